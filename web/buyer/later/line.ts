/** The waiting line of a sale on the buyer's page. Loaded where a sale has one. */

export { showLine } from '../line/show-line.tsx'
