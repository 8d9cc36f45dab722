import * as echarts from 'echarts';

/** A line of a picture: its name, and its points. */
export interface Line {
	name: string;
	points: Array<[x: number, y: number]>;
}

/** A picture with logarithmic x. */
export interface Picture {
	title: string;
	x: string;
	y: string;
	/** Whether y is logarithmic too. */
	yIsLog?: boolean;
	lines: Line[];
}

// Readable on a white page and on a dark one.
const GREY = '#808891';
const COLOURS = ['#1f8f5f', '#3f7fd9', '#d9822b', '#c2417c', '#8a63d2'];

/** Draws lines as an SVG. */
export function draw({ title, x, y, yIsLog = false, lines }: Picture): string {
	const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 760, height: 420 });
	const axis = {
		nameLocation: 'middle' as const,
		nameTextStyle: { color: GREY },
		axisLine: { show: true, lineStyle: { color: GREY } },
		axisLabel: { color: GREY },
		splitLine: { lineStyle: { color: GREY, opacity: 0.2 } },
	};
	chart.setOption({
		animation: false,
		color: COLOURS,
		title: { text: title, left: 'center', textStyle: { color: GREY, fontSize: 15 } },
		legend: { bottom: 0, textStyle: { color: GREY } },
		grid: { left: 70, right: 30, top: 50, bottom: 90 },
		xAxis: { ...axis, type: 'log', name: x, nameGap: 30 },
		yAxis: { ...axis, type: yIsLog ? 'log' : 'value', name: y, nameGap: 50 },
		series: lines.map(({ name, points }) => ({
			type: 'line' as const,
			name,
			data: points,
			symbolSize: 6,
		})),
	});
	const svg = chart.renderToSVGString();
	chart.dispose();
	return svg;
}
