import * as echarts from 'echarts';

/** A line of a panel: its name, and its points. */
export interface Line {
	name: string;
	points: Array<[x: number, y: number]>;
}

/** One of the two diagrams of a picture. */
export interface Panel {
	/** What its y-axis shows, with the unit. */
	y: string;
	/** Whether y is logarithmic too. */
	yIsLog?: boolean;
	lines: Line[];
}

/** Two diagrams side by side, with the same logarithmic x-axis and the same lines. */
export interface Picture {
	title: string;
	/** What it was made with. */
	subtitle: string;
	/** What the x-axes show, with the unit. */
	x: string;
	panels: [Panel, Panel];
}

// On a ground of its own, so that it can be read on a dark page too.
const GROUND = '#ffffff';
const TEXT = '#1f2328';
const RULE = '#8c959f';
const COLOURS = ['#0f7b4d', '#1f6feb', '#bc4c00', '#8250df'];
const SYMBOLS = ['circle', 'rect', 'triangle', 'diamond'];

const WIDTH = 920;
const HEIGHT = 480;
/** From the left edge of the picture to each panel, and how wide a panel is. */
const PANEL = { lefts: [75, 535], width: 345, top: 85, bottom: 125 };

const big = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 6 });

/** Draws a picture as an SVG. */
export function draw({ title, subtitle, x, panels }: Picture): string {
	const chart = echarts.init(null, null, {
		renderer: 'svg',
		ssr: true,
		width: WIDTH,
		height: HEIGHT,
	});
	const axis = (gridIndex: number, name: string, isLog: boolean) => ({
		gridIndex,
		type: isLog ? ('log' as const) : ('value' as const),
		name,
		nameLocation: 'middle' as const,
		nameTextStyle: { color: TEXT, fontSize: 14 },
		axisLine: { show: true, lineStyle: { color: RULE } },
		axisLabel: { color: TEXT, fontSize: 13, formatter: big },
		splitLine: { lineStyle: { color: RULE, opacity: 0.3 } },
	});
	chart.setOption({
		animation: false,
		backgroundColor: GROUND,
		textStyle: { fontFamily: 'Helvetica, Arial, sans-serif' },
		title: {
			text: title,
			subtext: subtitle,
			left: 'center',
			top: 12,
			textStyle: { color: TEXT, fontSize: 18 },
			subtextStyle: { color: TEXT, fontSize: 14 },
		},
		legend: {
			// An empty name begins a row.
			data: panels[0].lines.flatMap(({ name }, index) => (index === 2 ? ['', name] : [name])),
			bottom: 12,
			left: 'center',
			textStyle: { color: TEXT, fontSize: 14 },
		},
		grid: PANEL.lefts.map((left) => ({ ...PANEL, left })),
		xAxis: panels.map((_, index) => ({ ...axis(index, x, true), nameGap: 32 })),
		yAxis: panels.map(({ y, yIsLog = false }, index) => ({
			...axis(index, y, yIsLog),
			nameGap: 52,
		})),
		series: panels.flatMap(({ lines }, panel) =>
			lines.map(({ name, points }, index) => ({
				type: 'line' as const,
				name,
				data: points,
				xAxisIndex: panel,
				yAxisIndex: panel,
				symbol: SYMBOLS[index],
				symbolSize: 8,
				itemStyle: { color: COLOURS[index] },
				lineStyle: { color: COLOURS[index], width: 2.5 },
			})),
		),
	});
	const svg = chart.renderToSVGString();
	chart.dispose();
	return svg;
}
