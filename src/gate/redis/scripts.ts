/** The gate's own scripts, read from `scripts/`. */

import { scriptsIn } from '../../base/redis/script.ts'

export const readScript = scriptsIn(new URL('./scripts/', import.meta.url))
