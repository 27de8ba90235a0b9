// Payments at a fixed rate, whatever becomes of them, or so many at once; as a process of its own: Bun sends as many
// requests at once as it was started for, and its clock is nobody else's.

import { percentile } from './load.ts'

const {
  TARGET_URL = '',
  BARE_URL = '',
  HEADERS = '{}',
  SIGNERS = '[]',
  RECIPIENT,
  SECONDS,
  PER_SECOND,
  AT_ONCE,
} = process.env
/** More than this that wait for an answer are not sent, and count as refused late. */
const UNANSWERED_MAX = 20_000
const TICK_MS = 10
const LAST_ANSWER_MS = 70_000

/** Of answers of one kind. */
type Latencies = { readonly count: number; readonly p50Ms: number; readonly p99Ms: number }

export type OverloadRun = {
  readonly sent: number
  /** Within the time in which requests were sent. */
  readonly acceptedPerSecond: number
  readonly accepted: Latencies
  /** 503 `busy`. */
  readonly refused: Latencies
  /** Of a server that does nothing but refuse, at the same time. */
  readonly bare: Latencies
  /** By what the answer was. */
  readonly others: Readonly<Record<string, number>>
  readonly withRetryAfter: number
}

const signers: readonly string[] = JSON.parse(SIGNERS)
const headers: Record<string, string> = JSON.parse(HEADERS)
const took: Record<'accepted' | 'refused' | 'bare', number[]> = { accepted: [], refused: [], bare: [] }
const others: Record<string, number> = {}
let [sent, unanswered, withRetryAfter, acceptedInTime] = [0, 0, 0, 0]

const noteOther = (what: string) => {
  others[what] = (others[what] ?? 0) + 1
}

const send = async (): Promise<void> => {
  const body = JSON.stringify({
    network: 'Ethereum',
    signer_wallet_address: signers[sent++ % signers.length],
    developer_secret: 'testnet-secret',
    unsigned_transaction: { to: RECIPIENT, value: '1' },
  })
  if (unanswered >= UNANSWERED_MAX) return noteOther('not sent')
  unanswered += 1
  const begun = performance.now()
  try {
    const response = await fetch(TARGET_URL, {
      method: 'POST',
      headers,
      body,
      signal: AbortSignal.timeout(LAST_ANSWER_MS),
    })
    const { code } = (await response.json()) as { readonly code?: string }
    const ms = performance.now() - begun
    if (response.status === 200) {
      took.accepted.push(ms)
      if (elapsedMs() < endMs) acceptedInTime += 1
    } else if (code === 'busy') took.refused.push(ms)
    else noteOther(`${response.status} ${code}`)
    if (response.headers.has('retry-after')) withRetryAfter += 1
  } catch (error) {
    noteOther(error instanceof Error ? error.name : 'error')
  } finally {
    unanswered -= 1
  }
}

const latenciesOf = (ms: number[]): Latencies => {
  const sorted = ms.sort((a, b) => a - b)
  return { count: sorted.length, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}

const begunAtMs = performance.now()
const elapsedMs = () => performance.now() - begunAtMs
const endMs = Number(SECONDS) * 1000
const askBare = async (): Promise<void> => {
  while (elapsedMs() < endMs) {
    const begun = performance.now()
    await (await fetch(BARE_URL)).json()
    took.bare.push(performance.now() - begun)
    await Bun.sleep(TICK_MS)
  }
}
const underWay: Promise<void>[] = [askBare()]
if (PER_SECOND === undefined) {
  const client = async () => {
    while (elapsedMs() < endMs) await send()
  }
  underWay.push(...Array.from({ length: Number(AT_ONCE) }, client))
} else {
  while (elapsedMs() < endMs) {
    const due = Math.floor((elapsedMs() / 1000) * Number(PER_SECOND))
    while (sent < due) underWay.push(send())
    await Bun.sleep(TICK_MS)
  }
}
await Promise.all(underWay)
const run: OverloadRun = {
  sent,
  acceptedPerSecond: (acceptedInTime / endMs) * 1000,
  accepted: latenciesOf(took.accepted),
  refused: latenciesOf(took.refused),
  bare: latenciesOf(took.bare),
  others,
  withRetryAfter,
}
process.stdout.write(`done ${JSON.stringify(run)}\n`)
