import { readFileSync } from 'node:fs';
import path from 'node:path';

import ts from 'typescript';

import { plantedDefects } from '../support/simulation/plantedDefects.cts';

const ROOT = path.join(__dirname, '../..');

/** What TypeScript says of a name that is not there: such a patch breaks the node in every world. */
const MISSING = /^(Cannot find name|Property '.*' does not exist on type '(?!never'))/;

/** The node's sources in which some are replaced, by their paths. */
let replaced = new Map<string, string>();
let version = 0;

const compiler = compilerOf(path.join(ROOT, 'tsconfig.json'));

function compilerOf(config: string): ts.LanguageService {
	const { config: json } = ts.readConfigFile(config, (file) => ts.sys.readFile(file)) as {
		config: object;
	};
	const { fileNames, options } = ts.parseJsonConfigFileContent(json, ts.sys, ROOT);
	return ts.createLanguageService({
		...ts.sys,
		useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
		getScriptFileNames: () => fileNames,
		getCompilationSettings: () => options,
		getScriptVersion: (file) => (replaced.has(file) ? String(version) : ''),
		getScriptSnapshot: (file) => {
			const text = replaced.get(file) ?? ts.sys.readFile(file);
			return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
		},
		getCurrentDirectory: () => ROOT,
		getDefaultLibFileName: ts.getDefaultLibFilePath,
	});
}

test.each(plantedDefects.map((defect) => [defect.name, defect] as const))(
	'a defect can still be planted: %s',
	(_, { patches }) => {
		replaced = new Map();
		version++;
		for (const { file, find, replace } of patches) {
			const source = path.join(ROOT, file);
			const before = replaced.get(source) ?? readFileSync(source, 'utf8');
			expect(before.split(find).length - 1).toBe(1);
			replaced.set(
				source,
				before.replace(find, () => replace),
			);
		}
		const said = [...replaced.keys()]
			.flatMap((file) => compiler.getSemanticDiagnostics(file))
			.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
		expect(said.filter((text) => MISSING.test(text))).toEqual([]);
	},
);
