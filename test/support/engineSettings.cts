// Imported before n8n-core, which reads both when it is loaded: it logs each error of a node, and
// writes an encryption key into the user's own .n8n.
import path from 'node:path';

process.env.N8N_LOG_LEVEL = 'silent';
process.env.N8N_USER_FOLDER = path.join(__dirname, '../../node_modules/.cache');
