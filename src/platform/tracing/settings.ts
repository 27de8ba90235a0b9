// The variables of OpenTelemetry's specification that we know (https://opentelemetry.io/docs/specs/otel/configuration/).

type Variables = Readonly<Record<string, string | undefined>>

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

const problem = (name: string, right: string): Error => new Error(`${name} must be ${right}.`)

const textOf = (variables: Variables, name: string): string => variables[name]?.trim() ?? ''

const ratioOf = (variables: Variables): number => {
  const name = 'OTEL_TRACES_SAMPLER_ARG'
  const text = textOf(variables, name) || '1'
  const ratio = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : Number.NaN
  if (!(ratio <= 1)) throw problem(name, 'a number from 0 to 1')
  return ratio
}

const samplingOf = (variables: Variables): Sampling => {
  const sampler = SAMPLERS[textOf(variables, 'OTEL_TRACES_SAMPLER') || 'parentbased_always_on']
  if (sampler === undefined) throw problem('OTEL_TRACES_SAMPLER', `one of ${Object.keys(SAMPLERS).join(', ')}`)
  const { parentBased, ratio } = sampler
  return { parentBased, ratio: ratio === 'argument' ? ratioOf(variables) : ratio }
}

/** `name=value,name=value`, percent-encoded (W3C Baggage). The values of headers are secret, so no message shows one. */
const pairsOf = (variables: Variables, name: string): ReadonlyMap<string, string> => {
  const right = 'names and values such as name=value,name=value, percent-encoded'
  const pairs = textOf(variables, name)
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

const headersOf = (variables: Variables): ReadonlyMap<string, string> => {
  const name = 'OTEL_EXPORTER_OTLP_HEADERS'
  const headers = pairsOf(variables, name)
  try {
    new Headers([...headers])
  } catch {
    throw problem(name, 'names and values that HTTP headers may have')
  }
  return headers
}

const urlOf = (variables: Variables): URL | null => {
  const name = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const text = textOf(variables, name)
  if (text === '' || textOf(variables, 'OTEL_SDK_DISABLED').toLowerCase() === 'true') return null
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw problem(name, 'a URL that begins with http:// or https://')
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/traces`
  return url
}

const timeoutOf = (variables: Variables): number => {
  const name = 'OTEL_EXPORTER_OTLP_TIMEOUT'
  const text = textOf(variables, name) || '10000'
  const timeoutMs = /^[0-9]{1,6}$/.test(text) ? Number(text) : 0
  if (timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) throw problem(name, `milliseconds, from 1 to ${MAX_TIMEOUT_MS}`)
  return timeoutMs
}

/** How traces are exported; null: they are not. @throws Error with one sentence that names the variable, never its value. */
export const tracingOf = (variables: Variables) => {
  const url = urlOf(variables)
  const protocol = textOf(variables, 'OTEL_EXPORTER_OTLP_PROTOCOL') || 'http/json'
  if (url !== null && protocol !== 'http/json') throw problem('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
  const settings = {
    headers: headersOf(variables),
    timeoutMs: timeoutOf(variables),
    /** null: named after the process. */
    serviceName: textOf(variables, 'OTEL_SERVICE_NAME') || null,
    resource: pairsOf(variables, 'OTEL_RESOURCE_ATTRIBUTES'),
    sampling: samplingOf(variables),
  }
  return url && { url: url.href, ...settings }
}

export type TracingSettings = NonNullable<ReturnType<typeof tracingOf>>
