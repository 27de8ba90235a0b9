// What each program passes down as the first argument of its operations: one object, created once for a process.
// Each folder says in its type what it needs of it. Some modules keep state of their own, of four kinds;
// test/tidy.test.ts lists them:
// - caches of costly results: the canonical text of an address, the bytes of a namespace, checked public keys,
//   the types of programs' payloads as a registry has read them, hashes of typed data's types and domains;
// - facts about an object, in a WeakMap: how many blocks a chain's node serves at once, the range read ahead, the
//   running balance check, the tries that were let through, and the address from which a request came;
// - the call that a vault runs, whose parts are measured;
// - the WebAssembly that signs with sr25519, whose memory is restored after each use.

import type { HasClose } from '../../db/client.ts'
import { API_EVENTS } from '../../db/words.ts'
import type { ApiCtx } from '../api/ctx.ts'
import { createAccessTokens } from '../identity/auth/access-token.ts'
import { createIssuers } from '../identity/issuers/admit.ts'
import { createSecurityEvents } from '../identity/security-events.ts'
import type { AskingCtx, OperatorCtx } from '../operators/ctx.ts'
import type { Process } from '../platform/config.ts'
import { createOrderedQueues } from '../platform/queue.ts'
import { watchSpace } from '../platform/space.ts'
import { createRequests } from '../platform/tracing/requests.ts'
import type { MeasureCall, Timing } from '../platform/tracing/timings.ts'
import type { Span, Tracer } from '../platform/tracing/tracer.ts'
import { createWalletReader } from '../signing/wallets/get.ts'
import type { Remote } from '../vault/client/remote-vault.ts'
import { openVaults, openVaultsAsOperator, withVault } from '../vault/client/vaults.ts'
import type { HasVault, Vault } from '../vault/contract/vault.ts'
import { createAskingCtx, watchOf, withChains } from './asking-contexts.ts'
import { createIdentityCtx } from './keyed-contexts.ts'

// Calls of the vault as spans. A vault sends no spans, as it has no way to the outside: it says how long the parts of a
// call took (platform/tracing/timings.ts), and they are placed in the middle of the call, because no clock of it is
// known.

const VAULT = 'strongroom-vault'
const SERVICE = 'strongroom.Vault'

const addTimings = (tracer: Tracer, input: { span: Span; name: string; timings: readonly Timing[] }): void => {
  const { span, name, timings } = input
  const [whole, ...parts] = timings
  if (whole === undefined) return
  const endMs = span.nowMs()
  const startMs = span.startMs + Math.max(0, endMs - span.startMs - whole.tookMs) / 2
  const attributes = { 'rpc.system': 'strongroom', 'rpc.service': SERVICE }
  const past = { service: VAULT, startMs, endMs: startMs + whole.tookMs, attributes } as const
  const run = tracer.add(span, { ...past, name, kind: 'server' })
  for (const { name: part, beganMs, tookMs } of parts) {
    const partStartMs = startMs + beganMs
    const times = { startMs: partStartMs, endMs: partStartMs + tookMs }
    tracer.add(run, { service: VAULT, name: part, kind: 'internal', attributes: {}, ...times })
  }
}

const traceVaultCalls =
  (tracer: Tracer): MeasureCall =>
  (method, call) => {
    const name = `${SERVICE}/${method}`
    const attributes = { 'rpc.system': 'strongroom', 'rpc.service': SERVICE, 'rpc.method': method }
    return tracer.part({ name, kind: 'client', attributes }, (span) =>
      call((timings) => {
        if (span !== null) addTimings(tracer, { span, name, timings })
      }),
    )
  }

/** Transactions of one signer that are prepared at the same time. Each of them has the signer's key open meanwhile. */
const PREPARED_TOGETHER_MAX = 16
/** The database refuses a wait for a signer's lock after ten seconds (db/client.ts), and later waits soon after. */
const TURN_WAIT_MAX_MS = 15_000

/** @throws NotReadyYet before the first vault, Error if a key, the environment or a chain id is of another database. */
export const createApiCtx = (input: Process): Promise<ApiCtx & HasClose> => createCtxWith(openVaults, input)

export const createOperatorCtx = (input: Process): Promise<ApiCtx & OperatorCtx> =>
  createCtxWith(openVaultsAsOperator, input)

const createCtxWith = async <AnyVault extends Vault>(
  reach: (input: Parameters<typeof openVaults>[0]) => Remote<AnyVault>,
  input: Process,
): Promise<ApiCtx & HasClose & { readonly vault: AnyVault }> => {
  const watch = watchOf(input)
  const { tracer } = watch
  const vault = reach({ ...input, ...(tracer.isOn && { measure: traceVaultCalls(tracer) }) })
  const base = await withVault(vault, async () => withChains(await createIdentityCtx(input), watch))
  const securityEvents = createSecurityEvents({ ...base, written: API_EVENTS })
  return {
    ...base,
    securityEvents,
    tokens: createAccessTokens({ ...base, securityEvents }),
    issuers: createIssuers({ ...base, securityEvents }),
    signerQueues: createOrderedQueues({ atOnce: PREPARED_TOGETHER_MAX, waitMaxMs: TURN_WAIT_MAX_MS }),
    wallets: createWalletReader({ ...base, securityEvents }),
    requests: createRequests(base),
    space: watchSpace(base),
  }
}

export const createAskingVaultCtx = (input: Process): Promise<AskingCtx & HasVault> =>
  withVault(openVaults(input), () => createAskingCtx(input))
