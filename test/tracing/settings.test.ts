import { expect, test } from 'bun:test'
import { readConfig } from '../../src/platform/config.ts'

const VARIABLES = { ENVIRONMENT: 'testnet', DATABASE_URL: 'postgres://localhost/test' }
const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'
const read = (changes: Record<string, string>) => readConfig({ ...VARIABLES, ...changes })

test('is off without a collector, and where it is disabled', () => {
  expect(read({}).tracing).toBeNull()
  expect(read({ OTEL_SERVICE_NAME: 'custody' }).tracing).toBeNull()
  expect(read({ [ENDPOINT]: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' }).tracing).toBeNull()
  expect(read({}).accessLog).toBe(false)
})

test('traces go to the path of the specification below the collector', () => {
  const urlOf = (url: string) => read({ [ENDPOINT]: url }).tracing?.url
  expect(urlOf('http://127.0.0.1:4318')).toBe('http://127.0.0.1:4318/v1/traces')
  expect(urlOf('https://collector.example/otlp/')).toBe('https://collector.example/otlp/v1/traces')
})

test('headers and attributes are percent-decoded', () => {
  const { tracing } = read({
    [ENDPOINT]: 'http://127.0.0.1:4318',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20YTpi, x-tenant = one',
    OTEL_RESOURCE_ATTRIBUTES: 'host.name=a%2Cb',
  })
  expect(Object.fromEntries(tracing?.headers ?? [])).toEqual({ authorization: 'Basic YTpi', 'x-tenant': 'one' })
  expect(Object.fromEntries(tracing?.resource ?? [])).toEqual({ 'host.name': 'a,b' })
})

test('each sampler has its ratio', () => {
  const samplingOf = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG = '') =>
    read({ [ENDPOINT]: 'http://127.0.0.1:4318', OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }).tracing?.sampling
  expect(samplingOf('')).toEqual({ parentBased: true, ratio: 1 })
  expect(samplingOf('always_off')).toEqual({ parentBased: false, ratio: 0 })
  expect(samplingOf('traceidratio', '0.25')).toEqual({ parentBased: false, ratio: 0.25 })
  expect(samplingOf('parentbased_traceidratio', '1')).toEqual({ parentBased: true, ratio: 1 })
})

test('refuses what it does not know, without showing a value', () => {
  const secret = 'secret-of-the-collector'
  const refusals: readonly (readonly [Record<string, string>, string])[] = [
    [{ [ENDPOINT]: `ftp://${secret}` }, ENDPOINT],
    [{ [ENDPOINT]: secret }, ENDPOINT],
    [{ [ENDPOINT]: `http://${secret}.example`, ENVIRONMENT: 'mainnet' }, ENDPOINT],
    [{ [ENDPOINT]: 'http://127.0.0.1:4318', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: secret }, 'OTEL_EXPORTER_OTLP_HEADERS'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: `a=${secret}%0Ab` }, 'OTEL_EXPORTER_OTLP_HEADERS'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: `a=${secret}%` }, 'OTEL_EXPORTER_OTLP_HEADERS'],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '0' }, 'OTEL_EXPORTER_OTLP_TIMEOUT'],
    [{ OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER'],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1.5' }, 'OTEL_TRACES_SAMPLER_ARG'],
  ]
  for (const [changes, name] of refusals) {
    const PUBLIC_BASE_URL = 'https://custody.strongroom.example'
    const message = () => read({ PUBLIC_BASE_URL, ...changes })
    expect(message).toThrow(new RegExp(`^${name} must be `))
    expect(message).not.toThrow(secret)
  }
})

test('misspelt variables are named, and those of the runtime are not', () => {
  const OTHERS = { OTEL_SERVICENAME: 'x', OTEL_DENO: 'true', ACCESSLOG: 'true' }
  expect(read({ ...OTHERS, OTEL_TRACES_SAMPLER: 'always_on', ACCESS_LOG: 'true' }).unknownVariables).toEqual([
    'ACCESSLOG',
    'OTEL_SERVICENAME',
  ])
})
