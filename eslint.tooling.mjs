// The rules for what is not shipped: sandbox, demo, hosts and tests (`.cts`). The package itself is
// held to n8n's own rules in eslint.config.mjs, which see every `.ts` file and nothing else.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
	{ ignores: ['dist', 'node_modules', '**/*.ts'] },
	{
		files: ['**/*.cts'],
		extends: [eslint.configs.recommended, tseslint.configs.recommendedTypeChecked],
		languageOptions: {
			parserOptions: { project: './tsconfig.tooling.json', tsconfigRootDir: import.meta.dirname },
		},
	},
);
