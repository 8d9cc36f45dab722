/** In place of a package that no test here uses: whatever is asked of it is such a thing again. */
const nothing = new Proxy(class {}, {
	get: (target, name) => (name in target || typeof name === 'symbol' ? target[name] : nothing),
	apply: () => nothing,
});

module.exports = nothing;
