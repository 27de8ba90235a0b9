// A collector that is away, slow or refuses: requests do not notice, the queue is bounded, and what is lost is counted.

import { afterEach, expect, test } from 'bun:test'
import { createLog } from '../../src/platform/process/log.ts'
import { createExporter, type Exporter } from '../../src/platform/tracing/exporter.ts'
import { newSpanId, newTraceId } from '../../src/platform/tracing/otlp.ts'
import { startCollector } from '../support/collector.ts'
import { longTest } from '../support/long.ts'

const QUEUE_MAX = 2_048
/** Long enough for a slow machine: what was taken too late is sent again. */
const TIMEOUT_MS = 60_000
const SHORT_TIMEOUT_MS = 200

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const collect = (answer?: () => Response | Promise<Response>) => {
  const collector = startCollector(answer)
  stops.push(collector.stop)
  return collector
}

const exportTo = (url: string, timeoutMs = TIMEOUT_MS) => {
  const lines: string[] = []
  const dropped = { queue_full: 0, refused: 0 }
  const log = createLog({ config: { logLevel: 'info' }, process: 'test', write: (line) => lines.push(line) })
  const exporter = createExporter({
    url: `${url}/v1/traces`,
    headers: new Map([['authorization', 'secret-of-the-collector']]),
    timeoutMs,
    resource: {},
    log,
    onDropped: (reason, spans) => {
      dropped[reason] += spans
    },
  })
  return { exporter, dropped, lines }
}

const add = (exporter: Exporter, count: number): void => {
  for (let each = 0; each < count; each += 1) {
    const ids = { traceId: newTraceId(), spanId: newSpanId(), parentId: null }
    const times = { startMs: Date.now(), endMs: Date.now() }
    const attributes = { text: 'a', number: 1, part: 0.5, flag: true, none: undefined }
    exporter.add({
      service: 'test',
      ...ids,
      name: 'a',
      kind: 'internal',
      ...times,
      attributes,
      isError: false,
      links: [],
    })
  }
}

test('a full batch goes at once, and all that is there at the end', async () => {
  const collector = collect()
  const { exporter, dropped } = exportTo(collector.url)
  add(exporter, 1_500)
  await collector.until(() => collector.spans.length >= 1_024)
  await exporter.close()
  expect(collector.spans.length).toBe(1_500)
  expect(collector.spans[0]?.attributes).toEqual({ text: 'a', number: '1', part: 0.5, flag: true })
  expect(collector.malformed).toEqual([])
  expect(dropped).toEqual({ queue_full: 0, refused: 0 })
})

test('a collector that is away fills the queue, and what has no room is counted', async () => {
  const { exporter, dropped, lines } = exportTo('http://127.0.0.1:1')
  add(exporter, QUEUE_MAX + 100)
  expect(dropped).toEqual({ queue_full: 100, refused: 0 })
  await exporter.close()
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'the collector does not take traces',
    'the last traces were lost',
  ])
  expect(lines.join('')).not.toContain('secret-of-the-collector')
})

longTest('a batch is kept for a collector that is busy, and sent again', async () => {
  const answers = [new Response('', { status: 503 }), new Response('', { status: 429 })]
  const collector = collect(() => answers.shift() ?? Response.json({}))
  const { exporter, dropped, lines } = exportTo(collector.url)
  add(exporter, 600)
  await collector.until(() => collector.spans.length >= 512)
  await exporter.close()
  expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(600)
  expect(dropped).toEqual({ queue_full: 0, refused: 0 })
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'the collector does not take traces',
    'the collector does not take traces',
    'the collector takes traces again',
  ])
})

test('a batch that the collector refuses is dropped and counted', async () => {
  const collector = collect(() => new Response('', { status: 400 }))
  const { exporter, dropped } = exportTo(collector.url)
  add(exporter, 10)
  await exporter.close()
  expect(dropped).toEqual({ queue_full: 0, refused: 10 })
})

test('a collector that hangs is given up after the time limit, and the process can end', async () => {
  const { promise: never, resolve } = Promise.withResolvers<void>()
  const collector = collect(() => never.then(() => Response.json({})))
  const { exporter, lines } = exportTo(collector.url, SHORT_TIMEOUT_MS)
  add(exporter, 10)
  await exporter.close()
  resolve()
  expect(lines.map((line) => JSON.parse(line).why ?? JSON.parse(line).spans)).toEqual([
    `no answer within ${SHORT_TIMEOUT_MS} ms`,
    10,
  ])
})
