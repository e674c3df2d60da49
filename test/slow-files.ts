/**
 * The test files that take longest, longest first, as the end of a run on 2 cores lists them. They begin first, so that no lane is left
 * with a long file at the end. A file that is missing here is only begun later.
 */
export const SLOW_FILES: readonly string[] = []
