/** The offer of the demo's crowd on the buyer's page. Loaded on the demo's sales only. */

export { showCrowd } from '../demo/show-crowd.tsx'
