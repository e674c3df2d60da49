/** The code of an open payment. Loaded when one is shown: most buyers never see one. */

export { showPayCode } from '../pay-code/show-pay-code.tsx'
