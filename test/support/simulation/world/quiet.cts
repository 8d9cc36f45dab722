// n8n's engine logs each error of a node. It looks for this when it is loaded.
process.env.N8N_LOG_LEVEL = 'silent';
