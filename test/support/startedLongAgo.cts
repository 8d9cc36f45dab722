import { hostStart } from '../../nodes/AgentInvocation/engine/parking.ts';

// To the tests, n8n has started long ago; those of its start say when.
hostStart.loadedAt = -Infinity;
