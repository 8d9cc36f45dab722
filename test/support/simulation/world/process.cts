import type { ICredentialDataDecryptedObject, IRunExecutionData } from 'n8n-workflow';

import type { Hand } from './hand.cts';
import type { History } from './history.cts';
import type { Network } from './network.cts';
import type { LoadedPackage } from './nodeCode.cts';
import type { WorldService } from './service.cts';
import type { VirtualClock } from './virtualClock.cts';

/** What outlives every process of n8n. */
export interface Surroundings {
	clock: VirtualClock;
	service: WorldService;
	network: Network;
	history: History;
	hand: Hand;
	credential(key: number): ICredentialDataDecryptedObject;
	agentName(agent: number): string;
	/** What n8n has stored of an execution. */
	stored(id: string): IRunExecutionData | undefined;
}

/** A process of n8n, from its start until it is killed. */
export class Process {
	private isKilled = false;

	constructor(
		readonly host: Surroundings,
		readonly code: LoadedPackage,
	) {}

	readonly isAlive = (): boolean => !this.isKilled;

	kill(): void {
		this.isKilled = true;
		this.host.clock.drop(this);
	}
}
