// A steady load over two nodes of one network, of which one is always in some trouble, beside the same load over well
// nodes. No request may fail and no status may be wrong. Figures are printed. `STRONGROOM_LONG=1` runs a quarter of an
// hour; only then the slowest answers are compared with those of the quiet load, as fewer of them say little.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'
import { RETRY_AFTER_SECONDS, type SickNode, startSickNode, TROUBLES, type Trouble } from '../support/sick-node.ts'

const network = 'Ethereum'
const LONG_SECONDS = Number(process.env.STRONGROOM_SOAK_SECONDS ?? (process.env.STRONGROOM_LONG === '1' ? 900 : 0))
const LONG = {
  soakSeconds: LONG_SECONDS,
  quietSeconds: LONG_SECONDS / 5,
  perSecond: 20,
  spellMs: 6_000,
  signerCount: 40,
}
/** Each trouble once, and no quiet load, as nobody reads the figures. */
const SHORT = { soakSeconds: TROUBLES.length, quietSeconds: 0, perSecond: 5, spellMs: 1_000, signerCount: 10 }
/** Each spell is on the other node than the one before, so that each must take over from the other. */
const { soakSeconds, quietSeconds, perSecond, spellMs, signerCount } = LONG_SECONDS > 0 ? LONG : SHORT
const SETTLES_WITHIN_MS = 120_000
const COMPARED_FROM_SECONDS = 900
/** The 99th percentile of the answers' times may be at most so many times that of the quiet load. */
const SLOWER_TIMES_MAX = 3

let chain: TestChain
let nodes: readonly [SickNode, SickNode]
let service: Service
let signers: readonly string[]

beforeAll(async () => {
  chain = await startChain(network, { blockTimeSeconds: 1 })
  nodes = [startSickNode(chain.rpcUrl), startSickNode(chain.rpcUrl)]
  service = await startService({ rpcUrls: { [network]: nodes.map(({ url }) => url).join(' ') } })
  service.startWorker({ LOG_LEVEL: 'error' })
  const wallets = await Promise.all(Array.from({ length: signerCount }, () => service.newWallet({ network })))
  for (const { address } of wallets) await chain.fund(address)
  signers = wallets.map(({ address }) => address)
}, 120_000)

afterAll(async () => {
  await service.close()
  for (const node of nodes) await node.stop()
  await chain.stop()
})

type Sent = { readonly status: number; readonly text: string; readonly id: string; readonly tookMs: number }

const send = async (index: number): Promise<Sent> => {
  const beganMs = performance.now()
  const { status, text, json } = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: signers[index % signerCount],
    unsigned_transaction: { to: fundedAccount(5).address, value: String(index + 1) },
    developer_secret: 'testnet-secret',
  })
  return { status, text, id: json?.transaction_id, tookMs: performance.now() - beganMs }
}

/** Sends at a steady rate, whether answers come or not. */
const load = async (seconds: number): Promise<readonly Sent[]> => {
  const beganMs = performance.now()
  const sent: Promise<Sent>[] = []
  for (let index = 0; index < seconds * perSecond; index += 1) {
    await sleep(Math.max(beganMs + (index * 1_000) / perSecond - performance.now(), 0))
    sent.push(send(index))
  }
  return Promise.all(sent)
}

const percentile = (sent: readonly Sent[], percent: number): number => {
  const times = sent.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other)
  return Math.round(times[Math.min(Math.floor((times.length * percent) / 100), times.length - 1)] ?? 0)
}

/** The statuses that are not `success` in the end. */
const wrongAmong = async (sent: readonly Sent[]): Promise<readonly unknown[]> => {
  const wrong: unknown[] = []
  const deadline = Date.now() + SETTLES_WITHIN_MS
  for (const { id } of sent) {
    const { json } = await service.settled(id, Math.max(deadline - Date.now(), 1))
    if (json.status !== 'success') wrong.push(json)
  }
  return wrong
}

test(
  'no request fails and no status is wrong while one of two nodes is always in trouble',
  async () => {
    // Each signer once before, so that the quiet run does not measure first uses.
    const first = await Promise.all(signers.map((_, index) => send(index)))
    const quiet = await load(quietSeconds)
    const over = { isSo: false }
    const trouble = (async () => {
      let last: Trouble | null = null
      for (let spell = 0; !over.isSo; spell += 1) {
        const kind = TROUBLES[spell % TROUBLES.length] ?? 'closes'
        const [sick, well] = spell % 2 === 0 ? nodes : [nodes[1], nodes[0]]
        await well.fall(null)
        // A node that asked for a pause gets it, and is in trouble until then.
        if (last === 'answers 429') await sleep(RETRY_AFTER_SECONDS * 1_000)
        await sick.fall(kind)
        last = kind
        await sleep(spellMs)
      }
      for (const node of nodes) await node.fall(null)
    })()
    const sick = await load(soakSeconds)
    over.isSo = true
    await trouble
    const all = [...first, ...quiet, ...sick]
    const failed = all.filter(({ status }) => status !== 200)
    const wrong = await wrongAmong(all.filter(({ status }) => status === 200))
    const figuresOf = (sent: readonly Sent[]) => [50, 95, 99].map((percent) => percentile(sent, percent)).join(', ')
    console.log(
      `${sick.length} intents: ${failed.length} failed, ${wrong.length} wrong; p50, p95, p99 in ms quiet ${figuresOf(quiet)}, in trouble ${figuresOf(sick)}`,
    )
    expect(failed.map(({ text }) => text)).toEqual([])
    expect(wrong).toEqual([])
    if (soakSeconds >= COMPARED_FROM_SECONDS) {
      expect(percentile(sick, 99)).toBeLessThanOrEqual(SLOWER_TIMES_MAX * percentile(quiet, 99))
    }
  },
  (quietSeconds + soakSeconds) * 1_000 + 2 * SETTLES_WITHIN_MS,
)
