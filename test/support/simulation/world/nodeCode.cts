import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { compileFunction } from 'node:vm';

import type {
	EngineRequest,
	EngineResponse,
	IExecuteFunctions,
	IHttpRequestOptions,
	INodeExecutionData,
} from 'n8n-workflow';
import ts from 'typescript';

const ROOT = path.join(__dirname, '../../../..');
const NODE = 'nodes/AgentInvocation/AgentInvocation.node.ts';
const CREDENTIAL = 'credentials/AgentInvocationApi.credentials.ts';

/** A change of the node's source. */
export interface Patch {
	/** From the package's root. */
	file: string;
	/** Must be there exactly once. */
	find: string;
	replace: string;
}

/** What a process of n8n has loaded of the package: nothing is shared with another process. */
export interface LoadedPackage {
	/** How the node is called. */
	execute: (
		this: IExecuteFunctions,
		response?: EngineResponse,
	) => Promise<INodeExecutionData[][] | EngineRequest>;
	/** How its credential adds the API key to a request. */
	authenticate: (data: object, request: IHttpRequestOptions) => Promise<IHttpRequestOptions>;
}

type ModuleCode = (
	require: (name: string) => unknown,
	module: { exports: object },
	exports: object,
) => void;

/** The package's own source, from which each process of a simulated n8n loads again. */
export class NodeCode {
	private readonly compiled = new Map<string, ModuleCode>();

	/** By the file that asks and the name that it asks for. */
	private readonly resolved = new Map<string, string>();

	private readonly require = createRequire(path.join(ROOT, NODE));

	constructor(private readonly patches: Patch[] = []) {
		for (const { file } of patches) this.compile(path.join(ROOT, file));
	}

	/** @param version of n8n-workflow, as the host tells it */
	load(version: string): LoadedPackage {
		const modules = new Map<string, { exports: object }>();
		const load = (file: string): object => {
			const known = modules.get(file);
			if (known) return known.exports;
			const module = { exports: {} };
			modules.set(file, module);
			const require = (name: string): unknown => {
				if (name.startsWith('.')) return load(this.resolve(file, name));
				return name === 'n8n-workflow/package.json' ? { version } : this.require(name);
			};
			this.compile(file)(require, module, module.exports);
			return module.exports;
		};
		const { AgentInvocation } = load(path.join(ROOT, NODE)) as {
			AgentInvocation: new () => Pick<LoadedPackage, 'execute'>;
		};
		const { AgentInvocationApi } = load(path.join(ROOT, CREDENTIAL)) as {
			AgentInvocationApi: new () => Pick<LoadedPackage, 'authenticate'>;
		};
		const { execute } = new AgentInvocation();
		return { execute, authenticate: new AgentInvocationApi().authenticate };
	}

	private resolve(from: string, name: string): string {
		const key = `${from} ${name}`;
		const known = this.resolved.get(key);
		if (known) return known;
		const module = path.join(path.dirname(from), name);
		const file = existsSync(`${module}.ts`) ? `${module}.ts` : path.join(module, 'index.ts');
		this.resolved.set(key, file);
		return file;
	}

	private compile(file: string): ModuleCode {
		const known = this.compiled.get(file);
		if (known) return known;
		const { outputText } = ts.transpileModule(this.sourceOf(file), {
			fileName: file,
			compilerOptions: {
				module: ts.ModuleKind.CommonJS,
				target: ts.ScriptTarget.ES2022,
				esModuleInterop: true,
			},
		});
		const code = compileFunction(outputText, ['require', 'module', 'exports'], {
			filename: file,
		}) as ModuleCode;
		this.compiled.set(file, code);
		return code;
	}

	private sourceOf(file: string): string {
		const source = readFileSync(file, 'utf8');
		const own = this.patches.filter((patch) => path.join(ROOT, patch.file) === file);
		return own.reduce((text, { find, replace }) => {
			const found = text.split(find).length - 1;
			if (found !== 1) throw new Error(`${file} has this ${found} times, not once: ${find}`);
			return text.replace(find, () => replace);
		}, source);
	}
}
