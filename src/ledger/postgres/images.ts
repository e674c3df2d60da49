/** Images in PostgreSQL. Of all processes together so many; how many there may be is a bound of the ledger's size, not of a sale. */

import { assert } from '../../base/assert.ts'
import { IMAGES_BYTES_MAX, IMAGES_MAX } from '../../domain/image.ts'
import type { Images } from '../images.ts'
import type { Database } from './connection/database.ts'
import { queries } from './rows.ts'

export function createImages(database: Pick<Database, 'run'>): Images {
  const { one, first } = queries(database)
  return {
    add: (name, bytes, by) =>
      one('add_image', [name, Buffer.from(bytes), by, IMAGES_MAX, IMAGES_BYTES_MAX], row => row.kept === true),
    find: name =>
      first('find_image', [name], ({ bytes }) => {
        assert(bytes instanceof Uint8Array, 'column bytes is not bytes')
        return new Uint8Array(bytes)
      }),
  }
}
