import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { parsers } from 'prettier/plugins/markdown';

import { AgentInvocationApi } from '../../credentials/AgentInvocationApi.credentials';
import { projectRoot } from '../../hosts/pack.cts';
import codex from '../../nodes/AgentInvocation/AgentInvocation.node.json';
import { homepage } from '../../package.json';

/** Every page of the repository, the reports among them. */
const PAGES = [
	...pagesIn('.'),
	...['docs', 'bench', 'test'].flatMap((folder) => pagesIn(folder, { recursive: true })),
];

function pagesIn(folder: string, { recursive = false } = {}): string[] {
	return readdirSync(path.join(projectRoot, folder), { recursive, encoding: 'utf8' })
		.filter((file) => file.endsWith('.md'))
		.map((file) => path.join(folder, file));
}

/** What this needs of a part of a Markdown file. */
interface Part {
	type: string;
	value?: string;
	url?: string;
	children?: Part[];
}

interface Page {
	links: string[];
	anchors: Set<string>;
}

function readPage(file: string): Page {
	const text = readFileSync(path.join(projectRoot, file), 'utf8');
	const root = parsers.markdown.parse(text, {} as never) as Part;
	const parts = flatten(root);
	const headings = parts.filter(({ type }) => type === 'heading').map(textOf);
	return {
		links: parts.flatMap(({ url }) => url ?? []),
		anchors: new Set(headings.map(toAnchor)),
	};
}

const flatten = (part: Part): Part[] => [part, ...(part.children ?? []).flatMap(flatten)];

const textOf = (part: Part): string => part.value ?? (part.children ?? []).map(textOf).join('');

/** GitHub's own rule (`TableOfContentsFilter` of gjtorikian/html-pipeline). No page has a heading twice. */
const toAnchor = (heading: string) =>
	heading
		.toLowerCase()
		.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
		.replaceAll(' ', '-');

const pages = new Map(PAGES.map((file) => [file, readPage(file)]));

/** Whether a link from a page leads to a file, and with an anchor to a heading in it. */
function leadsSomewhere(from: string, link: string): boolean {
	const [target = '', anchor] = link.split('#');
	const file = target === '' ? from : path.join(path.dirname(from), target);
	if (!existsSync(path.join(projectRoot, file))) return false;
	return anchor === undefined || (pages.get(file)?.anchors.has(anchor) ?? false);
}

test.each(PAGES)('each link of %s leads somewhere', (file) => {
	const { links } = pages.get(file)!;
	const relative = links.filter((link) => !/^[a-z]+:/.test(link));
	expect(relative.filter((link) => !leadsSomewhere(file, link))).toEqual([]);
});

test('every page is looked at', () => {
	const some = ['README.md', 'docs/waiting.md', 'bench/LIMITS.md', 'test/soak/MINUTE.md'];
	expect(PAGES).toEqual(expect.arrayContaining(some));
});

test('there are links, with anchors and without', () => {
	const links = pages.get('README.md')!.links;
	expect(links).toContain('docs/waiting.md');
	expect(links.some((link) => link.includes('.md#'))).toBe(true);
});

test.each([
	['the credential', new AgentInvocationApi().documentationUrl, '#credential'],
	['the credential, in the codex', codex.resources.credentialDocumentation[0]!.url, '#credential'],
	['the node, in the codex', codex.resources.primaryDocumentation[0]!.url, '#operations'],
])('the help for %s is on the page', (_, url, anchor) => {
	expect(url).toBe(homepage + anchor);
	expect(leadsSomewhere('README.md', anchor)).toBe(true);
});

test.each(['README.md', 'SECURITY.md', '.github/ISSUE_TEMPLATE/config.yml'])(
	'%s names the repository as package.json does',
	(file) => {
		const text = readFileSync(path.join(projectRoot, file), 'utf8');
		const links = text.match(/https:\/\/github\.com\/[\w/-]+/g) ?? [];
		expect(links).not.toEqual([]);
		expect(links.filter((link) => !`${link}/`.startsWith(`${homepage}/`))).toEqual([]);
	},
);
