// The variables of OpenTelemetry's specification that we know
// (https://opentelemetry.io/docs/specs/otel/configuration/).

import { problem, url, type Variables, wholeNumber } from '../environment/variables.ts'

/** Which traces are recorded. `parentBased`: the caller's decision counts, if there is one. */
type Sampling = { readonly parentBased: boolean; readonly ratio: number }

const SAMPLERS: Readonly<Record<string, { readonly parentBased: boolean; readonly ratio: number | 'argument' }>> = {
  always_on: { parentBased: false, ratio: 1 },
  always_off: { parentBased: false, ratio: 0 },
  traceidratio: { parentBased: false, ratio: 'argument' },
  parentbased_always_on: { parentBased: true, ratio: 1 },
  parentbased_always_off: { parentBased: true, ratio: 0 },
  parentbased_traceidratio: { parentBased: true, ratio: 'argument' },
}

const MAX_TIMEOUT_MS = 60_000

const readText = (variables: Variables, name: string): string => variables[name]?.trim() ?? ''

const readRatio = (variables: Variables): number => {
  const name = 'OTEL_TRACES_SAMPLER_ARG'
  const text = readText(variables, name) || '1'
  const ratio = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (!(ratio <= 1)) throw problem(name, 'a number from 0 to 1')
  return ratio
}

const readSampling = (variables: Variables): Sampling => {
  const sampler = SAMPLERS[readText(variables, 'OTEL_TRACES_SAMPLER') || 'parentbased_always_on']
  if (sampler === undefined) throw problem('OTEL_TRACES_SAMPLER', `one of ${Object.keys(SAMPLERS).join(', ')}`)
  const { parentBased, ratio } = sampler
  return { parentBased, ratio: ratio === 'argument' ? readRatio(variables) : ratio }
}

/** `name=value,name=value`, percent-encoded (W3C Baggage). Headers are secret, so no message shows a value. */
const readPairs = (variables: Variables, name: string): ReadonlyMap<string, string> => {
  const right = 'names and values such as name=value,name=value, percent-encoded'
  const pairs = readText(variables, name)
    .split(',')
    .filter((pair) => pair.trim() !== '')
  return new Map(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw problem(name, right)
      try {
        return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())] as const
      } catch {
        throw problem(name, right)
      }
    }),
  )
}

const readHeaders = (variables: Variables): ReadonlyMap<string, string> => {
  const name = 'OTEL_EXPORTER_OTLP_HEADERS'
  const headers = readPairs(variables, name)
  try {
    new Headers([...headers])
  } catch {
    throw problem(name, 'names and values that HTTP headers may have')
  }
  return headers
}

const readEndpoint = (variables: Variables): URL | null => {
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const text = readText(variables, name)
  if (text === '' || readText(variables, 'OTEL_SDK_DISABLED').toLowerCase() === 'true') return null
  const endpoint = new URL(url(name, text, ['http:', 'https:']))
  endpoint.pathname = `${endpoint.pathname.replace(/\/+$/, '')}/v1/traces`
  return endpoint
}

/** @returns null if traces are not exported. @throws Error that names the variable, never its value. */
export const readTracing = (variables: Variables) => {
  const endpoint = readEndpoint(variables)
  const protocol = readText(variables, 'OTEL_EXPORTER_OTLP_PROTOCOL') || 'http/json'
  if (endpoint !== null && protocol !== 'http/json') throw problem('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
  const settings = {
    headers: readHeaders(variables),
    timeoutMs: wholeNumber(variables, 'OTEL_EXPORTER_OTLP_TIMEOUT', 10_000, MAX_TIMEOUT_MS),
    /** null: named after the process. */
    serviceName: readText(variables, 'OTEL_SERVICE_NAME') || null,
    resource: readPairs(variables, 'OTEL_RESOURCE_ATTRIBUTES'),
    sampling: readSampling(variables),
  }
  return endpoint && { url: endpoint.href, ...settings }
}

export type TracingSettings = NonNullable<ReturnType<typeof readTracing>>
