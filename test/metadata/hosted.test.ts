import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { insertMetadataDocuments } from '../../db/queries/metadata.ts'
import { describeMetadata } from '../../src/assets/metadata/host.ts'
import { PUBLIC_BASE_URL, startWorld } from '../activity/world.ts'
import { shared } from '../support/shared.ts'

const DOOR = {
  name: 'Door #1',
  description: 'A red door.',
  image: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi',
}
/** sha256sum of {"name":"Door #1","description":"A red door.","image":"ipfs://…"} */
const DOOR_DIGEST = '6386befb3a5307c603b1d3149fd0a6ceaa2f958aaf7895caf0b9f37c43fa5034'

const world = await shared(startWorld())

const config = { publicBaseUrl: PUBLIC_BASE_URL, ipfsApiUrl: null }
const host = async (metadata: typeof DOOR): Promise<string> => {
  const document = describeMetadata(config, metadata)
  await insertMetadataDocuments(world.api.db, [document])
  return document.uri.slice(PUBLIC_BASE_URL.length)
}
const documents = async (): Promise<number> =>
  Number((await world.sql<{ count: string }[]>`select count(*) from metadata_documents`)[0]?.count)

describe('a document', () => {
  test('is addressed by the SHA-256 of its canonical text', () => {
    expect(describeMetadata(config, DOOR)).toEqual({
      digest: DOOR_DIGEST,
      body: JSON.stringify(DOOR),
      uri: `${PUBLIC_BASE_URL}/metadata/${DOOR_DIGEST}.json`,
    })
  })

  test('does not depend on the order of fields, and has no other fields', () => {
    const { name, description, image } = DOOR
    const shuffled = { image, extra: 'x', description, name }
    expect(describeMetadata(config, shuffled)).toEqual(describeMetadata(config, DOOR))
  })

  test('differs for other metadata', () => {
    const others = [
      { ...DOOR, name: 'Door #2' },
      { ...DOOR, description: '' },
      { ...DOOR, image: 'ar://x' },
    ]
    const digests = [DOOR, ...others].map((each) => describeMetadata(config, each).digest)
    expect(new Set(digests).size).toBe(4)
  })

  test('is stored once, however often it is hosted', async () => {
    await host(DOOR)
    const before = await documents()
    await Promise.all([host(DOOR), host(DOOR), host(DOOR)])
    expect(await documents()).toBe(before)
  })

  test('is stored in the transaction that hosts it', async () => {
    const before = await documents()
    const document = describeMetadata(config, { ...DOOR, name: 'never' })
    const failing = world.api.db.transaction(async (tx) => {
      await insertMetadataDocuments(tx, [document])
      throw new Error('the mint failed')
    })
    await expect(failing).rejects.toThrow('the mint failed')
    expect(await documents()).toBe(before)
  })
})

describe('GET /metadata/{digest}.json', () => {
  test('serves the exact text to anybody, cacheable without end', async () => {
    const path = await host(DOOR)
    const answer = await world.request(path)
    expect(answer.status).toBe(200)
    expect(answer.text).toBe(JSON.stringify(DOOR))
    expect(createHash('sha256').update(answer.text).digest('hex')).toBe(DOOR_DIGEST)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'access-control-allow-origin': '*',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: `"${DOOR_DIGEST}"`,
    })
  })

  test('answers 304 to a client that has the document', async () => {
    const path = await host(DOOR)
    const known = (value: string) => world.request(path, { 'if-none-match': value })
    for (const value of ['*', `"${DOOR_DIGEST}"`, `"x", W/"${DOOR_DIGEST}"`]) {
      const answer = await known(value)
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', `"${DOOR_DIGEST}"`])
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    }
    for (const value of [DOOR_DIGEST, `"${'0'.repeat(64)}"`, '"']) expect((await known(value)).status).toBe(200)
  })

  test('serves text in any script, and markup as text', async () => {
    const metadata = { ...DOOR, name: 'Tür 門 🚪', description: '<script>alert(1)</script>\u2028"\\' }
    const answer = await world.request(await host(metadata))
    expect(answer.json).toEqual(metadata)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  test('ignores authentication headers', async () => {
    const path = await host(DOOR)
    const headers = { authorization: 'Bearer nonsense', 'x-walletkit-project-id': 'nonsense' }
    expect((await world.request(path, headers)).status).toBe(200)
  })

  test.each([
    ['an unknown digest', `${'0'.repeat(64)}.json`],
    ['no suffix', DOOR_DIGEST],
    ['another suffix', `${DOOR_DIGEST}.jpeg`],
    ['a digest in upper case', `${DOOR_DIGEST.toUpperCase()}.json`],
    ['a digest that is too short', `${DOOR_DIGEST.slice(1)}.json`],
    ['a digest that is too long', `${DOOR_DIGEST}0.json`],
    ['a line after it', `${DOOR_DIGEST}.json%0A`],
    ['NUL', `${DOOR_DIGEST}%00.json`],
    ['a path', `..%2F${DOOR_DIGEST}.json`],
    ['only a suffix', '.json'],
    ['a broken escape', '%E0%A4.json'],
  ])('answers 404 for %s, and nobody keeps that', async (_, file) => {
    await host(DOOR)
    const answer = await world.request(`/metadata/${file}`)
    expect([answer.status, answer.json]).toEqual([404, { error: expect.any(String), code: 'not_found' }])
    expect(answer.headers.get('cache-control')).toBeNull()
    expect(answer.headers.get('etag')).toBeNull()
  })
})
