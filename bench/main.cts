import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { nodeAndMachine } from '../hosts/report.cts';
import { draw } from './draw.cts';
import { tenRows } from './examples.cts';
import { engine, loading, perItem, waiting } from './measured.cts';
import { pictures } from './pictures.cts';
import { against, atTheLimit, lateness, limits } from './simulated.cts';

const { values } = parseArgs({
	options: {
		/** Prints results of fewer items, and writes nothing. */
		quick: { type: 'boolean', default: false },
		/** The same, of what is simulated alone: no n8n is started. */
		simulated: { type: 'boolean', default: false },
		/** Measures the limits alone, in a minute. */
		limits: { type: 'boolean', default: false },
	},
});
const quick = values.quick || values.simulated;

interface Section {
	title: string;
	/** Its text; a picture of this name stands below the title. */
	text: () => string | Promise<string>;
	picture?: string;
	isSimulated?: boolean;
}

const sections: Section[] = [
	{ title: 'In ten rows', text: tenRows, isSimulated: true },
	{
		title: 'Against what a user would pick instead',
		text: () => against(quick),
		picture: 'wall-time',
		isSimulated: true,
	},
	{ title: "In n8n's engine", text: engine },
	{
		title: 'How late a result is noticed',
		text: () => lateness(quick),
		picture: 'lateness',
		isSimulated: true,
	},
	{
		title: 'Against the limit',
		text: () => atTheLimit(quick),
		picture: 'refused',
		isSimulated: true,
	},
	{ title: 'Cost per item, without waiting', text: () => perItem(quick) },
	{ title: 'Cost of waiting', text: () => waiting(quick) },
	{ title: 'Start-up', text: loading },
];

async function main(): Promise<void> {
	if (values.limits || !quick) {
		say('Limits that services have');
		write('LIMITS.md', limits());
	}
	if (values.limits) return;
	const parts = [
		'# Benchmarks',
		`\`npm run bench${quick ? ' -- --quick' : ''}\` ${nodeAndMachine()}, Node.js ${process.versions.node}. All figures are from one run: compare ratios, not absolute values.`,
	];
	for (const section of sections) {
		if (values.simulated && !section.isSimulated) continue;
		say(section.title);
		parts.push(`## ${section.title}`);
		if (section.picture) parts.push(await pictureOf(section.picture));
		parts.push(await section.text());
	}
	const results = `${parts.join('\n\n')}\n`;
	if (quick) process.stdout.write(results);
	else write('RESULTS.md', results);
}

async function pictureOf(name: string): Promise<string> {
	const picture = await pictures[name]!();
	if (!quick) write(`${name}.svg`, draw(picture));
	return `![${picture.title}. ${picture.subtitle}](${name}.svg)`;
}

function write(file: string, text: string): void {
	writeFileSync(path.join(__dirname, file), text);
}

function say(what: string): void {
	process.stderr.write(`${what}\n`);
}

void main();
