/** A moment in the life of a run at which n8n is killed, and what is then so once it runs again. */
export interface Kill {
	moment: string;
	/** The execution's status in n8n. */
	status: string;
	/** How many runs the service has started for the item. */
	runs: number;
	user: string;
}

/** What `kill.test.cts` sees and REPORT.md shows. */
export const kills: Kill[] = [
	{
		moment: 'The create is on its way',
		status: 'crashed',
		runs: 0,
		user: 'n8n says that it stopped in mid-execution. Nothing was started.',
	},
	{
		moment: 'The create was carried out, its answer is on its way',
		status: 'crashed',
		runs: 1,
		user: 'n8n says that it stopped in mid-execution. The run goes on at the service.',
	},
	{
		moment: "In the node's wait",
		status: 'crashed',
		runs: 1,
		user: 'n8n says that it stopped in mid-execution. The run goes on at the service.',
	},
	{ moment: 'Parked', status: 'success', runs: 1, user: 'The output, as if nothing had happened.' },
	{
		moment: 'Parked, in mid-poll',
		status: 'crashed',
		runs: 1,
		user: 'n8n says that it stopped in mid-execution. Its Retry goes on with the same run and gives the output.',
	},
	{
		moment: 'Resumed, in the next node',
		status: 'crashed',
		runs: 1,
		user: "n8n says that it stopped in mid-execution. The node's output, with the run ID, is in the execution.",
	},
];
