// A collector that hangs or refuses, and a service whose requests do not notice.

import { expect, test } from 'bun:test'
import { startCollector } from '../support/collector.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests } from '../support/shared.ts'

const { promise: never, resolve: answerAll } = Promise.withResolvers<void>()
const hanging = startCollector(() => never.then(() => Response.json({})))
const refusing = startCollector(() => new Response('', { status: 403 }))
const services: Record<string, Service> = {}

afterTests(() => refusing.stop())
afterTests(() => hanging.stop())
for (const { url } of [hanging, refusing]) {
  const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: url }
  services[url] = await startService({ variables })
}
afterTests(async () => {
  for (const service of Object.values(services)) await service.close()
})
afterTests(async () => {
  answerAll()
})

const at = ({ url }: { readonly url: string }): Service => {
  const service = services[url]
  if (service === undefined) throw new Error('the service was not started')
  return service
}

test('requests are answered while the collector hangs', async () => {
  const service = at(hanging)
  expect((await service.get('/openapi/json')).status).toBe(200)
  await hanging.until(() => hanging.bodies.length > 0)
  for (let each = 0; each < 20; each += 1) {
    expect((await service.get('/openapi/json')).status).toBe(200)
  }
  expect(hanging.spans).toEqual([])
})

test('what the collector refuses is counted', async () => {
  const service = at(refusing)
  const refused = async () => {
    const { text } = await service.call('/metrics')
    return Number(/^strongroom_spans_dropped_total\{reason="refused"\} (\d+)$/m.exec(text)?.[1])
  }
  expect(await refused()).toBe(0)
  expect((await service.get('/openapi/json')).status).toBe(200)
  await refusing.until(() => refusing.bodies.length > 0)
  while ((await refused()) === 0) await Bun.sleep(5)
  expect(await refused()).toBeGreaterThan(0)
})
