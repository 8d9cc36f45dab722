import { existsSync } from 'node:fs';
import path from 'node:path';

import { chromium, selectors, type Browser, type Locator, type Page } from 'playwright-core';

import { owner, type N8n } from '../../hosts/n8n.cts';
import { projectRoot } from '../../hosts/pack.cts';

/** Against pages that hang: a slow machine must not fail one. */
const SETTLE_MS = 240_000;

const VIEWPORT = { width: 1_280, height: 800 };

/** The part of the editor that one of the README's pictures shows, by its test ID; the whole page otherwise. */
const SHOWN: Record<string, string> = {
	'nodes-panel': 'node-creator',
	agents: 'node-parameters',
	node: 'node-parameters',
	output: 'ndv',
};

/** Of the page, where a picture takes more to show all of it. */
const SIZE: Record<string, Partial<typeof VIEWPORT>> = {
	output: { width: 1_640 },
	workflow: { height: 1_000 },
};

/** Where Chromium is: Debian's package, or what CHROMIUM_PATH says. */
function findChromium(): string {
	const file = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
	if (existsSync(file)) return file;
	throw new Error(
		`No Chromium at ${file}. On Debian and Ubuntu: apt-get install chromium. Elsewhere, set CHROMIUM_PATH.`,
	);
}

/**
 * n8n's editor in a real browser, signed in as the owner. It counts the clicks and keystrokes of a person
 * who does the same, so tests click and type through it.
 */
export class Editor {
	clicks = 0;

	keystrokes = 0;

	private constructor(
		readonly page: Page,
		private readonly browser: Browser,
		private readonly n8n: N8n,
	) {}

	static async open(n8n: N8n): Promise<Editor> {
		selectors.setTestIdAttribute('data-test-id');
		const browser = await chromium.launch({
			executablePath: findChromium(),
			args: [
				'--no-sandbox',
				'--disable-gpu',
				'--disable-quic',
				// Chromium's own calls home are no part of what is tested.
				'--disable-background-networking',
				'--disable-component-update',
				'--disable-sync',
			],
		});
		const page = await browser.newPage({
			viewport: VIEWPORT,
			deviceScaleFactor: process.env.SCREENSHOTS ? 2 : 1,
		});
		page.setDefaultTimeout(SETTLE_MS);
		const editor = new Editor(page, browser, n8n);
		await editor.go('/signin');
		await page.fill('input[name="emailOrLdapLoginId"]', owner.email);
		await page.fill('input[name="password"]', owner.password);
		await page.getByRole('button', { name: 'Sign in' }).click();
		await page.waitForURL((url) => !url.pathname.includes('signin'));
		return editor;
	}

	async close(): Promise<void> {
		await this.browser.close();
	}

	/** What is marked with one of n8n's own test IDs. */
	part(testId: string, hasText?: string): Locator {
		const all = this.page.getByTestId(testId);
		return hasText === undefined ? all : all.filter({ hasText });
	}

	async click(target: Locator): Promise<void> {
		this.clicks++;
		await target.click();
	}

	/** Types into whatever has the focus. */
	async type(text: string): Promise<void> {
		this.keystrokes += text.length;
		await this.page.keyboard.type(text);
	}

	/**
	 * Keeps what is to be seen as one of the README's pictures, when `npm run screenshots` asks for them.
	 *
	 * @param hovered what the pointer is over, if that shows something
	 */
	async picture(name: string, hovered?: Locator): Promise<void> {
		if (!process.env.SCREENSHOTS) return;
		await this.page.setViewportSize({ ...VIEWPORT, ...SIZE[name] });
		// Messages that come and go are no part of a picture.
		await (hovered ? hovered.hover() : this.page.mouse.move(1, 1));
		const message = this.page.locator('[role=alert]:not([data-test-id=empty-fields-notice])');
		await message.first().waitFor({ state: 'hidden' });
		// Nor is what moves, such as the small map of the canvas.
		await this.page.waitForTimeout(3_000);
		const file = path.join(projectRoot, 'screenshots', `${name}.png`);
		const part = SHOWN[name];
		await (part ? this.part(part) : this.page).screenshot({ path: file });
		await this.page.setViewportSize(VIEWPORT);
	}

	async go(address: string): Promise<void> {
		await this.page.goto(`${this.n8n.url}${address}`);
	}

	/** Pastes a text into whatever has the focus. */
	async paste(text: string): Promise<void> {
		await this.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		await this.page.evaluate(async (copied) => await navigator.clipboard.writeText(copied), text);
		await this.page.keyboard.press('Control+v');
	}

	/** Opens a node of a workflow, as a double-click on it does. */
	async openNode(workflowId: string, nodeId: string): Promise<void> {
		await this.go(`/workflow/${workflowId}/${nodeId}`);
		await this.part('ndv').waitFor();
	}

	/** Opens a node as it was in an execution, with what it gave. */
	async openExecutedNode(
		workflowId: string,
		executionId: string,
		nodeId: string,
	): Promise<Locator> {
		await this.go(`/workflow/${workflowId}/executions/${executionId}/${nodeId}`);
		await this.part('ndv', nodeId).waitFor();
		return this.part('output-panel');
	}

	/** Searches the nodes panel from an empty canvas, and gives the names that it finds. */
	async searchNodes(text: string): Promise<string[]> {
		await this.click(this.part('canvas-plus-button'));
		await this.part('node-creator-search-bar').waitFor();
		await this.type(text);
		const names = this.part('node-creator-item-name');
		await names
			.filter({ hasText: new RegExp(text, 'i') })
			.first()
			.waitFor();
		return (await names.allTextContents()).map((name) => name.trim());
	}

	/** Chooses a node in the nodes panel, or one of its actions. */
	async chooseNode(name: string): Promise<void> {
		await this.click(this.part('node-creator-item-name', name).first());
	}

	/** Opens the list of agents. Gives its entries, or none where it says what is wrong. */
	async openAgents(): Promise<Locator> {
		await this.click(this.part('rlc-input'));
		const entries = this.part('rlc-item');
		await entries.first().or(this.part('rlc-error-container')).waitFor();
		return entries;
	}

	async chooseAgent(name: string): Promise<void> {
		const entries = await this.openAgents();
		await this.click(entries.filter({ hasText: name }).first());
	}

	/** A setting of the open node, or one of the agent's parameters. */
	setting(name: string): Locator {
		return this.part(`parameter-input-${name}`);
	}

	/** Chooses an entry of a setting that has a list. */
	async choose(setting: Locator, option: string): Promise<void> {
		await this.click(setting);
		await this.click(this.page.getByRole('option', { name: option }).first());
	}

	/** Gives one of the agent's parameters an expression; the editor itself adds the closing braces. */
	async fillExpression(name: string, expression: string): Promise<void> {
		await this.setting(name).hover();
		const options = this.part(`value["${name}"]-parameter-input-options-container`);
		await this.click(options.getByTestId('radio-button-expression'));
		await this.fill(name, `{{ ${expression}`);
	}

	/** Executes the open node, which then goes on by itself. */
	async executeStep(): Promise<void> {
		await this.click(this.part('node-execute-button'));
	}

	/** Clicks into a setting and types. */
	async fill(name: string, text: string): Promise<void> {
		await this.click(this.setting(name).locator('input, .cm-content').first());
		await this.type(text);
		// The editor takes over what was typed a moment later.
		await this.page.waitForTimeout(1_000);
	}
}
