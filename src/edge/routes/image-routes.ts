/**
 * Images that operators uploaded: taken once, and served to everybody under a name that never holds anything else. They are data: no browser
 * runs anything in them, whatever the bytes look like.
 */

import {
  IMAGE_BYTES_MAX,
  IMAGE_TYPES,
  IMAGES_BYTES_MAX,
  IMAGES_MAX,
  IMAGES_PATH,
  kindOfName,
} from '../../domain/image.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { admitCall, type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { type Exchange, json, type Route, readBytes, route } from '../http/exchange.ts'
import { answerBy, bodyInvalid, ProblemError, plainProblem } from '../http/problem-response.ts'
import { UNRENDERED } from '../http/security-headers.ts'
import { ASSET_HEADERS } from '../pages.ts'

const TOO_LARGE = `An image may have ${IMAGE_BYTES_MAX / 1e6} MB. Save it smaller: 1,200 pixels are enough for every page.`
const NO_IMAGE = 'The body is not a PNG, JPEG, WebP, GIF or AVIF image. Send the bytes of the file as they are.'
const FULL = `There is room for ${IMAGES_MAX} images of ${IMAGES_BYTES_MAX / 1e6} MB together. Put this one on a host of your own, and name its https address.`

const handlers = {
  async addImage({ images }, { request }, by) {
    const bytes = await readBytes(request, IMAGE_BYTES_MAX).catch((error: unknown) => {
      throw error instanceof ProblemError && error.code === 'body_too_large'
        ? new ProblemError('body_too_large', TOO_LARGE)
        : error
    })
    return answerBy(await images.add(bytes, by), {
      kept({ name }) {
        const image = `${IMAGES_PATH}${name}`
        return json({ image }, 201, { location: image })
      },
      no_image: () => bodyInvalid('', NO_IMAGE),
      full: () => new ProblemError('images_full', FULL),
    })
  },
} satisfies Handlers<typeof operatorCalls>

export function imageRoutes(edge: EdgeContext): readonly Route[] {
  return [
    // The handler reads no further than its bound, and says which it is.
    ...routesOf(edge, operatorCalls, handlers).map(one => ({ ...one, bytesMax: Number.MAX_SAFE_INTEGER })),
    route({ method: 'GET', path: `${IMAGES_PATH}{name}` }, exchange => image(edge, exchange)),
  ]
}

async function image(edge: EdgeContext, { request, params }: Exchange): Promise<Response> {
  const { name = '' } = params
  const kind = kindOfName(name)
  if (kind === undefined) return plainProblem('not_found')
  const copy = edge.images.copy(name)
  // Only what costs a look-up counts: a page may show a hundred.
  const refused = copy === undefined ? admitCall(edge, request) : undefined
  if (refused !== undefined) return refused
  const bytes = copy ?? (await edge.images.find(name))
  if (bytes === undefined) return plainProblem('not_found')
  const headers = {
    ...UNRENDERED,
    ...ASSET_HEADERS,
    'content-type': IMAGE_TYPES[kind],
    // Pages of the shop's own site may show it too.
    'cross-origin-resource-policy': 'cross-origin',
  }
  return new Response(bytes, { headers })
}
