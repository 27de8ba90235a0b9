// Two floors of signing over HTTP, for the same request body and in the same framework.
//
// `/sign` is bare: one row read, one AES-256-GCM, one native signature and one committed insert that concurrent
// requests share. No authentication, no hierarchy of keys, no transaction encoding.
//
// `/sign-durably` is the least that a correct durable signer must do in one process: the API key by its hash and the
// sealed key in one read that concurrent requests share, one AES-256-GCM, the EIP-1559 transaction with both Keccaks, a
// native signature, and an audit row with its MAC in a commit that they share.

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { Elysia, t } from 'elysia'
import postgres from 'postgres'
import { assemble, serializeUnsigned } from '../src/chains/evm/encode.ts'
import { nativeCurve } from '../src/vault/rooms/keys/secp256k1.ts'

const sql = postgres(process.env.DATABASE_URL ?? '', { max: 20 })
const key = randomBytes(32)
const macKey = randomBytes(32)
/** Ethereum's testnet. */
const CHAIN_ID = 11_155_111

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
await sql`create table floor_api_keys (hash text primary key, key_id int not null)`
const apiKeyHash = createHash('sha256')
  .update(process.env.API_KEY ?? '')
  .digest('hex')
await sql`insert into floor_api_keys values (${apiKeyHash}, 1)`

/** Does together what is asked while the one before is under way. */
const sharing = <Asked, Answer>(run: (asked: readonly Asked[]) => Promise<readonly Answer[]>) => {
  let waiting: { asked: Asked; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  let isRunning = false
  const runAll = async (): Promise<void> => {
    isRunning = true
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      try {
        const answers = await run(batch.map(({ asked }) => asked))
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index] as Answer)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isRunning = false
  }
  return (asked: Asked): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      if (!isRunning) queueMicrotask(() => isRunning || void runAll())
    })
}

const commit = sharing(async (effects: readonly { readonly detail: string; readonly mac: Uint8Array }[]) => {
  await sql`insert into floor_effects ${sql(effects.map((effect) => ({ at: new Date(), ...effect })))}`
  return effects.map(() => null)
})

const sealedKeyOf = sharing(async (hashes: readonly string[]) => {
  const rows = await sql<{ hash: string; sealed: Uint8Array }[]>`
    select a.hash, k.sealed from floor_api_keys a join floor_keys k on k.id = a.key_id
    where a.hash = any(${[...new Set(hashes)]})`
  const sealedOf = new Map(rows.map(({ hash, sealed }) => [hash, sealed]))
  return hashes.map((hash) => sealedOf.get(hash) ?? null)
})

const Signed = t.Object({
  network: t.String(),
  signer_wallet_address: t.String(),
  developer_secret: t.String(),
  unsigned_transaction: t.Record(t.String(), t.String()),
})

type Fields = typeof Signed.static.unsigned_transaction

/** @returns the signed transaction and its hash. */
const signTransaction = (
  { to, value, input, gasLimit, maxFeePerGas, maxPriorityFeePerGas, nonce }: Fields,
  privateKey: Uint8Array,
) => {
  const number = (text: string | undefined) => BigInt(text ?? '')
  const unsigned = {
    family: 'evm',
    ...{
      chainId: CHAIN_ID,
      nonce: Number(nonce),
      to: to as `0x${string}`,
      value: number(value),
      input: input as `0x${string}`,
    },
    gasLimit: number(gasLimit),
    maxFeePerGas: number(maxFeePerGas),
    maxPriorityFeePerGas: number(maxPriorityFeePerGas),
  } as const
  const digest = keccak_256(Buffer.from(serializeUnsigned(unsigned).slice(2), 'hex'))
  if (nativeCurve === null) throw new Error('libsecp256k1 does not run here')
  return assemble(unsigned, nativeCurve.sign({ digest, privateKey }))
}

const app = new Elysia({ normalize: false })
  .post(
    '/sign',
    async ({ body }) => {
      const [row] = await sql<{ sealed: Uint8Array }[]>`select sealed from floor_keys where id = 1`
      const digest = createHash('sha256')
        .update(body.unsigned_transaction.nonce ?? '')
        .digest()
      const signature = nativeCurve?.sign({ digest, privateKey: open(row?.sealed ?? new Uint8Array(60)) }) ?? digest
      await commit({ detail: body.unsigned_transaction.nonce ?? '', mac: digest })
      return JSON.stringify(Buffer.from(signature).toString('hex'))
    },
    { body: Signed },
  )
  .post(
    '/sign-durably',
    async ({ body, headers, set }) => {
      const apiKey = headers.authorization?.slice('Bearer '.length) ?? ''
      const sealed = await sealedKeyOf(createHash('sha256').update(apiKey).digest('hex'))
      if (sealed === null) {
        set.status = 401
        return 'The API key is unknown.'
      }
      const privateKey = open(sealed)
      const signed = signTransaction(body.unsigned_transaction, privateKey)
      privateKey.fill(0)
      const detail = JSON.stringify({
        action: 'transaction_signed',
        wallet: body.signer_wallet_address,
        hash: signed.hash,
      })
      await commit({ detail, mac: createHmac('sha256', macKey).update(detail).digest() })
      return JSON.stringify({ signed_transaction: signed.raw, transaction_hash: signed.hash })
    },
    { body: Signed },
  )

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
process.stdout.write(`listening ${server.port}\n`)
process.once('SIGTERM', () => process.exit(0))
