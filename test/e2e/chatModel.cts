import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import express from 'express';

interface Message {
	role: string;
	content: unknown;
}

interface Tool {
	name: string;
	description: string;
	/** A JSON schema of its arguments. */
	parameters: { properties: Record<string, unknown>; required?: string[] };
}

/** A call of a tool: the first that is offered, or the one whose name holds `tool`. */
interface ToolCall {
	tool?: string;
	arguments: object;
}

/** What a model goes by: the whole conversation, the newest message last. */
type Decide = (messages: Message[]) => ToolCall | undefined;

/** A language model of very few words, which speaks the chat completions protocol on loopback. */
export interface ChatModel {
	baseUrl: string;
	/** The tools that it was offered last. */
	offered: Tool[];
	/** What its tools gave, in the order of its calls. */
	results: string[];
	close(): Promise<void>;
}

/**
 * Starts a model that answers with what the last tool gave.
 *
 * @param calls the tools that it calls first, one after the other; or which one it calls next, if any
 */
export async function startChatModel(
	calls: ToolCall[] | Decide = [{ arguments: {} }],
): Promise<ChatModel> {
	const chatModel: ChatModel = {
		baseUrl: '',
		offered: [],
		results: [],
		close: async () => await new Promise((resolve) => server.close(() => resolve())),
	};
	const app = express();
	app.use(express.json({ limit: '5mb' }));
	app.post('/v1/chat/completions', (request, response) => {
		const { messages, tools, model } = request.body as {
			messages: Message[];
			tools: Array<{ function: Tool }>;
			model: string;
		};
		chatModel.offered = tools.map((tool) => tool.function);
		chatModel.results = messages
			.filter(({ role }) => role === 'tool')
			.map(({ content }) => String(content));
		const call = typeof calls === 'function' ? calls(messages) : calls[chatModel.results.length];
		const message = call
			? { role: 'assistant', content: null, tool_calls: [toToolCall(call, chatModel)] }
			: { role: 'assistant', content: `The tool says: ${chatModel.results.at(-1)}` };
		response.json({
			id: 'completion',
			object: 'chat.completion',
			created: 0,
			model,
			choices: [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop' }],
			usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
		});
	});
	const server: Server = createServer(app);
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	chatModel.baseUrl = `http://127.0.0.1:${port}/v1`;
	return chatModel;
}

function toToolCall(call: ToolCall, { offered, results }: ChatModel) {
	const tool = offered.find(({ name }) => name.includes(call.tool ?? ''));
	const { arguments: given } = call;
	return {
		id: `call_${results.length}`,
		type: 'function',
		function: { name: tool?.name, arguments: JSON.stringify(given) },
	};
}
