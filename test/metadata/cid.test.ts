import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { cidOf, digestOfCid } from '../../src/assets/metadata/pin.ts'

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')
const DOOR =
  '{"name":"Door #1","description":"A red door.","image":"ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"}'

// Computed with the packages of multiformats: CID.createV1(raw.code, await sha256.digest(text)).
test.each([
  [sha256(''), 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku'],
  [sha256('hello world'), 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e'],
  [sha256(DOOR), 'bafkreiddq27pwosta7dahmotcsp5bjwovixzlcvppck4v4fz6n6eh6sqgq'],
  ['00'.repeat(32), 'bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'],
  ['ff'.repeat(32), 'bafkreih777777777777777777777777777777777777777777777777774'],
])('a file with the digest %s has the CID %s', (digest, cid) => {
  expect(cidOf(digest)).toBe(cid)
  expect(digestOfCid(cid)).toBe(digest)
})

test('every digest can be read back from its CID', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const digest = Buffer.from(bytes).toString('hex')
      expect(digestOfCid(cidOf(digest))).toBe(digest)
    }),
  )
})

test.each([
  ['of a folder (dag-pb)', 'bafybeidogqfzz75tpkmjzjke425xqcrmpcib2p5tg44hnbirumdbpl5adu'],
  ['of version 0', 'QmVkqaunyKCw4NKmWXbsGhkr5CotM8vCBKWyxsh8FGZyfr'],
  ['in upper case', 'BAFKREIFZJUT3TE2NHYEKKLSS27NH3K72YSCO7Y32KOAO5EEI66WOF36N5E'],
  ['with other padding', 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5f'],
  ['with a path', 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e/1.json'],
  ['that is too short', 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5'],
  ['that is empty', ''],
])('a CID %s is not one of ours', (_, cid) => {
  expect(digestOfCid(cid)).toBeNull()
})
