// Calls of nodes and of the vault as spans. A node's URL may contain a key, so only its position and host are shown. A vault sends
// no spans, as it has no way to the outside: it says how long the parts of a call took (platform/tracing/timings.ts), and they are placed
// in the middle of the call, because no clock of it is known.

import type { AroundCall } from '../chains/nodes.ts'
import type { MeasureCall, Timing } from '../platform/tracing/timings.ts'
import type { Span, Tracer } from '../platform/tracing/tracer.ts'

const VAULT = 'strongroom-vault'
const SERVICE = 'strongroom.Vault'
const METHODS_SHOWN_MAX = 8

/** @param node its position and host. */
export const traceNodeCalls =
  (tracer: Tracer, network: string): AroundCall =>
  ({ node, methods }, call) => {
    const distinct = [...new Set(methods)]
    const [name = 'batch'] = distinct
    return tracer.part(
      {
        name: distinct.length === 1 ? name : 'batch',
        kind: 'client',
        attributes: {
          'rpc.system': 'jsonrpc',
          'rpc.method': distinct.slice(0, METHODS_SHOWN_MAX).join(' '),
          'strongroom.network': network,
          'strongroom.node': node,
          'strongroom.batch_size': methods.length,
        },
      },
      call,
    )
  }

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

export const traceVaultCalls =
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
