/** A duration as a reader says it: '5.2 s', '1 min 40 s', '1 h 5 min'. */
export function duration(ms: number): string {
	const seconds = Math.round(ms / 1_000);
	if (seconds < 60) return `${(ms / 1_000).toFixed(1)} s`;
	const minutes = Math.round(ms / 60_000);
	if (minutes < 60) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A share as a percentage. */
export function percent(share: number): string {
	return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}
