/** The reminder of a sale's opening on the buyer's page. Loaded before the opening only. */

export { showReminder } from '../reminder/show-reminder.ts'
