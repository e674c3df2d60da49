/** Settings of traces. Unset endpoint: nothing is traced. The names of OpenTelemetry where it has them. */

import { z } from 'zod'
import { hide, parsedBy, setting, type Texts, webAddress, whole } from './setting.ts'

const isOn = (texts: Texts) => texts.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined
const TRACES_PATH = '/v1/traces'

export const TRACE_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting({
    about:
      'Where traces are sent: an OpenTelemetry collector that takes OTLP over HTTP as JSON, such as http://127.0.0.1:4318. Unset: nothing is traced.',
    schema: webAddress
      .refine(text => !/[?#@]/.test(text), 'must be an address without a query and a password')
      .transform(text => `${text.replace(/\/+$/, '').replace(/\/v1\/traces$/, '')}${TRACES_PATH}`),
    show: url => url?.slice(0, -TRACES_PATH.length) ?? null,
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting({
    about: 'Sent with every request to the collector: name=value,name=value, values percent-encoded.',
    schema: parsedBy(readHeaders),
    show: hide,
    applies: isOn,
  }),
  OTEL_SERVICE_NAME: setting({
    about: 'The name under which the collector shows this installation.',
    schema: z.string().max(100),
    default: 'stampede',
    applies: isOn,
  }),
  TRACE_SAMPLE: setting({
    about:
      'Which part of the clicks that reach the gate is traced, from 0 to 1. A click with a traceparent header of a trusted proxy (TRUSTED_PROXIES) is traced if that says so, whatever this is.',
    schema: z
      .string()
      .regex(/^(0|1|0?\.[0-9]{1,6}|1\.0)$/, 'must lie between 0 and 1, like 0.01')
      .transform(Number),
    default: '0.01',
    applies: isOn,
  }),
  TRACE_PER_SECOND: setting({
    about: 'At most so many clicks a second are traced by one process, by chance and by traceparent together.',
    schema: whole(1, 10_000),
    default: '100',
    applies: isOn,
  }),
}

function readHeaders(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(',').map(pair => {
      const [, name, value] = /^\s*([A-Za-z0-9-]{1,64})\s*=\s*([\x21-\x7e]*)\s*$/.exec(pair) ?? []
      if (name === undefined || value === undefined) throw new Error('must be name=value,name=value')
      try {
        return [name.toLowerCase(), decodeURIComponent(value)]
      } catch {
        throw new Error('has a value that is not percent-encoded rightly')
      }
    }),
  )
}
