import { afterAll, beforeEach, expect, test } from 'bun:test'
import { describeMetadata } from '../../src/assets/metadata/host.ts'
import { pinMetadata } from '../../src/assets/metadata/pin.ts'
import { readConfig, Secret } from '../../src/platform/config.ts'
import { startKubo } from './kubo.ts'

const kubo = startKubo()
afterAll(() => kubo.stop())
beforeEach(() => {
  kubo.moods.now = 'well'
  kubo.pins.clear()
  kubo.asked.length = 0
})

const configOf = (url: string, nodeTimeoutMs = 5_000) => ({
  publicBaseUrl: 'https://custody.example',
  ipfsApiUrl: new Secret(url),
  nodeTimeoutMs,
})
const config = configOf(kubo.url)
const DOOR = { name: 'Tür 門 🚪', description: '"\\\r\n--x', image: 'ipfs://door' }

test('a document is pinned unchanged, and its URI is its CID', async () => {
  const largest = { name: '門'.repeat(256), description: '🚪'.repeat(4096), image: `ipfs://${'a'.repeat(2041)}` }
  for (const metadata of [DOOR, largest]) {
    const document = describeMetadata(config, metadata)
    await pinMetadata(config, document)
    await pinMetadata(config, document)
    expect(document.uri).toStartWith('ipfs://bafkrei')
    expect(kubo.pins.get(document.uri.slice('ipfs://'.length))).toBe(JSON.stringify(metadata))
  }
  expect(kubo.pins.size).toBe(2)
})

test('nothing is pinned if no node is configured', async () => {
  const none = { ...config, ipfsApiUrl: null }
  const document = describeMetadata(none, DOOR)
  expect(document.uri).toStartWith('https://custody.example/metadata/')
  await pinMetadata(none, document)
  expect(kubo.asked).toEqual([])
})

test("the URL's path is kept, and user and password are sent as Basic authentication", async () => {
  await pinMetadata(configOf(`http://us%40er:pa%3Ass@${kubo.host}/key/`), describeMetadata(config, DOOR))
  const authorization = `Basic ${btoa('us@er:pa:ss')}`
  expect(kubo.asked).toEqual([{ authorization, path: '/key/api/v0/add' }])
})

test.each([
  ['fails', 'failing', 'HTTP 500'],
  ['names another file', 'lying', 'did not answer with the CID'],
  ['says something else', 'babbling', 'did not answer with the CID'],
  ['sends the document elsewhere', 'redirecting', 'cannot be reached'],
  ['says nothing', 'silent', 'within 200 ms'],
] as const)('a node that %s is an error', async (_, mood, said) => {
  kubo.moods.now = mood
  const startedAt = performance.now()
  const refused = pinMetadata(configOf(kubo.url, 200), describeMetadata(config, DOOR))
  await expect(refused).rejects.toMatchObject({
    code: 'unavailable',
    status: 503,
    message: expect.stringContaining(said),
  })
  expect(performance.now() - startedAt).toBeLessThan(2_000)
  expect(kubo.asked).toEqual([])
})

test('an unreachable node is an error that does not contain its URL', async () => {
  const away = startKubo()
  away.stop()
  const error = await pinMetadata(
    configOf(`http://user:password@${away.host}/s3cret`),
    describeMetadata(config, DOOR),
  ).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'unavailable', status: 503 })
  const shown = Bun.inspect(error, { depth: 10 })
  for (const part of ['password', 's3cret', away.host]) expect(shown).not.toContain(part)
})

test('IPFS_API_URL must be the URL of an API, or absent', () => {
  const read = (url: string | undefined) =>
    readConfig({
      ENVIRONMENT: 'testnet',
      DATABASE_URL: 'postgres://localhost/x',
      SERVICE_KEY: 'fd:3',
      ...(url === undefined ? {} : { IPFS_API_URL: url }),
    }).ipfsApiUrl
  expect(read('http://user:password@127.0.0.1:5001/')?.reveal()).toBe('http://user:password@127.0.0.1:5001/')
  for (const none of [undefined, '', ' ']) expect(read(none)).toBeNull()
  for (const wrong of [
    '/ip4/127.0.0.1/tcp/5001',
    'ipfs://x',
    'https://x.example/?key=1',
    'https://x.example/#a',
    'http://a:%ff@x.example',
  ]) {
    expect(() => read(wrong)).toThrow('IPFS_API_URL must be a URL')
  }
})
