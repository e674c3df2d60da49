/** A time zone in a query. */

import { z } from 'zod'
import { isTimeZone } from '../base/calendar-days.ts'

export const timeZone = z.string().max(64).refine(isTimeZone, 'must be a time zone like Asia/Shanghai')
