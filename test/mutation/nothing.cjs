// In place of a file that is not loaded: Jest wants one test in each.
test.skip('nothing', () => {});
