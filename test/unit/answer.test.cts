import { readThrown } from '../../nodes/AgentInvocation/service/answer.ts';

const systemError = (code: string, syscall: string) =>
	Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

/** As Node.js throws it for a host with several addresses, which it tries one after the other. */
const ofAllAddresses = (...errors: Error[]) =>
	Object.assign(new AggregateError(errors), { code: 'ETIMEDOUT' });

// 'notConnected' is sent again, since it started nothing; of the others, nobody knows.
test.each([
	[systemError('ECONNREFUSED', 'connect'), 'notConnected'],
	[systemError('ETIMEDOUT', 'connect'), 'notConnected'],
	[systemError('ETIMEDOUT', 'read'), 'timedOut'],
	[systemError('ECONNRESET', 'read'), 'connectionLost'],
	[
		ofAllAddresses(systemError('ETIMEDOUT', 'connect'), systemError('ENETUNREACH', 'connect')),
		'notConnected',
	],
	[ofAllAddresses(systemError('ETIMEDOUT', 'read')), 'timedOut'],
	[systemError('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'read'), 'notTrusted'],
	[systemError('ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'read'), 'connectionLost'],
])('%s is %s', (cause, kind) => {
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe(kind);
});

test('a lost connection is known by the code that n8n 2.0 keeps in its own error alone', () => {
	const thrown = { message: 'The connection to the server was closed', httpCode: 'ECONNRESET' };
	expect(readThrown(thrown, false).kind).toBe('connectionLost');
});

test.each([
	[{ message: 'stream has been aborted', httpCode: null }],
	[{ message: 'Odd', httpCode: '404' }],
	['a text'],
])('what is thrown without a code may have been sent: %j', (thrown) => {
	expect(readThrown(thrown, false).kind).toBe('connectionLost');
});

test('a request that Node.js refuses to send was not sent', () => {
	const cause = systemError('ERR_INVALID_CHAR', 'setHeader');
	expect(readThrown(new Error('n8n says', { cause }), false).kind).toBe('notSent');
});
