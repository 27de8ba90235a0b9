// The bare floor of signing over HTTP: the same framework, one row read, one AES-256-GCM, one native signature and one
// committed insert that concurrent requests share, for the same request body. No authentication, no hierarchy of keys,
// no transaction encoding.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Elysia, t } from 'elysia'
import postgres from 'postgres'
import { nativeCurve } from '../src/vault/rooms/keys/secp256k1.ts'

const sql = postgres(process.env.DATABASE_URL ?? '', { max: 20 })
const key = randomBytes(32)

const seal = (plaintext: Uint8Array) => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

const open = (sealed: Uint8Array) => {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
  decipher.setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
}

await sql`create table floor_keys (id int primary key, sealed bytea not null)`
await sql`create table floor_effects (id bigint generated always as identity primary key, at timestamptz, detail text, mac bytea)`
await sql`insert into floor_keys values (1, ${seal(randomBytes(32))})`

let waiting: { detail: string; mac: Uint8Array; done: () => void; failed: (error: unknown) => void }[] = []
let inserting = false

const flush = async (): Promise<void> => {
  inserting = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    try {
      await sql`insert into floor_effects ${sql(batch.map(({ detail, mac }) => ({ at: new Date(), detail, mac })))}`
      for (const each of batch) each.done()
    } catch (error) {
      for (const each of batch) each.failed(error)
    }
  }
  inserting = false
}

const commit = (detail: string, mac: Uint8Array) =>
  new Promise<void>((done, failed) => {
    waiting.push({ detail, mac, done, failed })
    if (!inserting) queueMicrotask(() => inserting || void flush())
  })

const app = new Elysia({ normalize: false }).post(
  '/sign',
  async ({ body }) => {
    const [row] = await sql<{ sealed: Uint8Array }[]>`select sealed from floor_keys where id = 1`
    const digest = createHash('sha256')
      .update(body.unsigned_transaction.nonce ?? '')
      .digest()
    const signature = nativeCurve?.sign({ digest, privateKey: open(row?.sealed ?? new Uint8Array(60)) }) ?? digest
    await commit(body.unsigned_transaction.nonce ?? '', digest)
    return JSON.stringify(Buffer.from(signature).toString('hex'))
  },
  {
    body: t.Object({
      network: t.String(),
      signer_wallet_address: t.String(),
      developer_secret: t.String(),
      unsigned_transaction: t.Record(t.String(), t.String()),
    }),
  },
)

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
process.stdout.write(`listening ${server.port}\n`)
process.once('SIGTERM', () => process.exit(0))
