/** Waits until something is so. */
export async function until(
	isSo: () => boolean | Promise<boolean>,
	timeoutMs = 600_000,
): Promise<void> {
	const deadline = Date.now() + timeoutMs;
	while (!(await isSo())) {
		if (Date.now() > deadline) throw new Error(`It is not so after ${timeoutMs} ms`);
		await new Promise((resolve) => setTimeout(resolve, 200));
	}
}
