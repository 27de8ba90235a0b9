// An access token has exactly one valid text. Another text that decodes to the same bytes is refused.

import { describe, expect, test } from 'bun:test'
import { decodeProtectedHeader, importJWK, SignJWT } from 'jose'
import { commonService } from '../support/common-service.ts'

const service = await commonService()
const { sql } = service.database
const token: string = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
  .access_token

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const statusOf = async (text: string): Promise<number> =>
  (await service.call('/wallets?network=Ethereum', { headers: { authorization: `Bearer ${text}` } })).status

const bytesOf = (text: string) => text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))

describe('an access token in another encoding', () => {
  test('is refused, whether or not the original was verified before', async () => {
    const last = BASE64URL.indexOf(token.slice(-1))
    const spellings = [
      // The last character of a signature has four bits that mean nothing.
      ...Array.from({ length: 15 }, (_, bits) => token.slice(0, -1) + BASE64URL[last + bits + 1]),
      `${token}=`,
      `${token}==`,
      token.replace('.', '=.'),
      `${token}~`,
      `${token.slice(0, -10)}~${token.slice(-10)}`,
    ]
    for (const spelling of spellings) {
      expect(bytesOf(spelling)).toEqual(bytesOf(token))
      expect({ spelling, status: await statusOf(spelling) }).toEqual({ spelling, status: 401 })
    }
    expect(await statusOf(token)).toBe(200)
    for (const spelling of spellings) {
      expect({ spelling, status: await statusOf(spelling) }).toEqual({ spelling, status: 401 })
    }
  })

  test('is refused in the standard base64 alphabet', async () => {
    // Not every signature contains one of the two characters, so issue tokens until one does.
    for (;;) {
      const { access_token: other } = (await service.post('/users/login-anonymously', {}, { authorization: undefined }))
        .json
      const spelling = other.replaceAll('-', '+').replaceAll('_', '/')
      if (spelling === other) continue
      expect(await statusOf(spelling)).toBe(401)
      expect(await statusOf(other)).toBe(200)
      return
    }
  })

  test('is refused with spaces or line breaks', async () => {
    const middle = token.length - 20
    for (const blank of ['%20', ' ', '\t']) {
      const spelling = token.slice(0, middle) + blank + token.slice(middle)
      expect(await service.ctx.tokens.verify(spelling)).toBeNull()
      expect(await service.ctx.tokens.verify(`${token}${blank}`)).toBeNull()
    }
    expect(await service.ctx.tokens.verify(`${token}\n`)).toBeNull()
    expect(await service.ctx.tokens.verify(token)).toMatchObject({ projectId: service.project.projectId })
  })
})

test('a token with other or reordered header members is refused, even if our own key signed it', async () => {
  const [row] = await sql`select id, public_key, sealed from token_keys`
  const d = Buffer.from(
    service.ctx.identity.open({ purpose: 'token key', rowId: row?.id, sealed: row?.sealed }),
  ).toString('base64url')
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: row?.public_key, d }, 'EdDSA')
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const signed = (header: object) => new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(key)
  const right = { typ: 'JWT', kid: row?.id }
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', ...right })
  expect(await statusOf(await signed(right))).toBe(200)
  for (const header of [
    { kid: row?.id },
    { kid: row?.id, typ: 'JWT' },
    { ...right, typ: 'at+jwt' },
    { ...right, jku: 'https://example.org/keys' },
    { ...right, jwk: { kty: 'OKP', crv: 'Ed25519', x: row?.public_key } },
  ]) {
    expect({ header, status: await statusOf(await signed(header)) }).toEqual({ header, status: 401 })
  }
})
