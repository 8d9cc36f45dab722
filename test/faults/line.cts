import dns from 'node:dns';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream';
import tls from 'node:tls';

import { generate } from 'selfsigned';

/**
 * What is wrong with the way to the service: requests do not even reach it, or with `garbled`, its answer
 * comes in records that cannot be read.
 */
export type LineTrouble = 'refused' | 'nameUnknown' | 'untrusted' | 'resetting' | 'garbled';

/** A TLS record of application data that nobody has encrypted. */
const GARBLED = Buffer.from([0x17, 0x03, 0x03, 0x00, 0x40, ...Array<number>(64).fill(7)]);

const DOMAIN = 'service.test';

interface Certificate {
	key: string;
	cert: string;
}

async function certificate(): Promise<Certificate> {
	const attributes = [{ name: 'commonName', value: DOMAIN }];
	const altNames = [{ type: 2 as const, value: `*.${DOMAIN}` }];
	const made = await generate(attributes, { extensions: [{ name: 'subjectAltName', altNames }] });
	return { key: made.private, cert: made.cert };
}

/**
 * Names, certificates and connections as the network has them, between the node and sandboxes: each
 * sandbox has a host name of its own, behind which a server that speaks TLS passes requests on. This
 * process trusts its certificate as long as the network is open.
 */
export class Network {
	private readonly lines = new Map<string, Line>();

	private constructor(
		private readonly trusted: Certificate,
		private readonly untrusted: Certificate,
	) {}

	static async open(): Promise<Network> {
		const network = new Network(await certificate(), await certificate());
		const { lookup } = dns;
		const resolve = (name: string, ...rest: unknown[]) => {
			const goOn = (real: string) => (lookup as (...args: unknown[]) => void)(real, ...rest);
			const line = network.lines.get(name);
			if (!line) return goOn(name);
			void line.connect().then((isKnown) => goOn(isKnown ? '127.0.0.1' : `${name}.invalid`));
		};
		jest.spyOn(dns, 'lookup').mockImplementation(resolve);
		const { createSecureContext } = tls;
		jest.spyOn(tls, 'createSecureContext').mockImplementation((options) => {
			const context = createSecureContext(options);
			(context.context as { addCACert(cert: string): void }).addCACert(network.trusted.cert);
			return context;
		});
		return network;
	}

	/** A line to the sandbox at an address on loopback. */
	async lineTo(baseUrl: string): Promise<Line> {
		const line = await Line.open(new URL(baseUrl), this.trusted, this.untrusted);
		this.lines.set(new URL(line.baseUrl).hostname, line);
		return line;
	}
}

/** The way to one sandbox, which can be broken. */
export class Line {
	/** How many connections were tried; each carries one request. */
	connections = 0;

	private trouble: LineTrouble | undefined;

	/** How many connections still meet the trouble. */
	private left = 0;

	private constructor(
		readonly baseUrl: string,
		private readonly server: Server,
		private readonly port: number,
		private readonly trusted: Certificate,
		private readonly untrusted: Certificate,
	) {}

	static async open(target: URL, trusted: Certificate, untrusted: Certificate): Promise<Line> {
		const server = createServer(trusted);
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const { port } = server.address() as AddressInfo;
		const baseUrl = `https://line-${port}.${DOMAIN}:${port}${target.pathname}`;
		const line = new Line(baseUrl, server, port, trusted, untrusted);
		// What is written to these is not encrypted.
		const sockets = new Map<number | undefined, Socket>();
		server.on('connection', (socket: Socket) => {
			sockets.set(socket.remotePort, socket);
			if (line.trouble === 'resetting') socket.resetAndDestroy();
		});
		server.on('request', (request, response) => {
			const { method, url, headers } = request;
			const onward = httpRequest(new URL(url ?? '', target), { method, headers, agent: false });
			const isGarbled = line.trouble === 'garbled';
			onward.on('response', (answer) => {
				if (isGarbled) {
					sockets.get(request.socket.remotePort)?.end(GARBLED);
					return;
				}
				response.writeHead(answer.statusCode ?? 500, { ...answer.headers, connection: 'close' });
				pipeline(answer, response, (cut) => cut && request.socket.destroy());
			});
			onward.on('error', () => request.socket.destroy());
			request.pipe(onward);
		});
		return line;
	}

	/** Breaks the line for so many connections, now or as soon as a create has been answered. */
	break(trouble: LineTrouble, times: number, after: 'now' | 'create'): void {
		const begin = () => {
			this.trouble = trouble;
			this.left = times;
			if (trouble === 'refused') this.server.close();
			if (trouble === 'untrusted') this.server.setSecureContext(this.untrusted);
		};
		if (after === 'now') return begin();
		this.server.on('request', ({ method }, response) => {
			if (method === 'POST') response.once('finish', begin);
		});
	}

	/** A connection is about to be made. Tells whether the line's name is known for it. */
	async connect(): Promise<boolean> {
		this.connections++;
		if (this.trouble && this.left-- === 0) await this.mend();
		return this.trouble !== 'nameUnknown';
	}

	private async mend(): Promise<void> {
		this.trouble = undefined;
		this.server.setSecureContext(this.trusted);
		if (this.server.listening) return;
		await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
	}

	close(): void {
		this.server.closeAllConnections();
		this.server.close();
	}
}
