// The vault at its two sockets: one for APIs, and one for its operator. APIs of other machines may come by TLS.
//
// An opened key belongs to the connection that opened it, under a number that means nothing on another one. It is
// zeroed when it is closed, when its connection ends, and by itself after a while. A client that names a key which is
// not open on the connection makes a mistake or attacks: the connection is closed, and an audit row says so.

import type { Audit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import { Refused } from '../client/data.ts'
import { operatorSocketOf } from '../client/remote-vault.ts'
import type { AnyMethod, Calls } from '../contract/method.ts'
import { KEY_METHODS, METHODS, OPERATOR_METHODS } from '../contract/methods.ts'
import type { OpenKey, OpenPolicies, OpenPolicyKey, OperatorVault, Vault } from '../contract/vault.ts'
import { createRefusedConnections } from './refused-connections.ts'
import { KeyClosed } from './vault.ts'
import { doorAtPath, type PeerUsers } from './wire/door.ts'
import { type Connection, type Listener, type ListenOptions, listen, type Served, serve } from './wire/listen.ts'
import { createRoom } from './wire/room.ts'
import { doorByTls, type TlsDoor } from './wire/tls-door.ts'

/** More than an API has requests at once. */
const KEYS_A_CONNECTION_MAX = 10_000

type Opened =
  | { readonly by: 'credential'; readonly key: OpenKey }
  | { readonly by: 'policy'; readonly key: OpenPolicyKey }
  | { readonly by: 'policies'; readonly key: OpenPolicies }

const notOpen = () => new Refused('a key is not open on this connection')

/** The keys that are open on each connection. */
const createOpenKeys = () => {
  const connections = new WeakMap<Connection, Map<number, Opened>>()
  let lastHandle = 0

  const openedBy = (connection: Connection): Map<number, Opened> => {
    const open = connections.get(connection) ?? new Map<number, Opened>()
    connections.set(connection, open)
    return open
  }

  return {
    /** @returns the key with its handle. */
    open: async <One extends Opened>(connection: Connection, opening: () => Promise<One>) => {
      if (openedBy(connection).size >= KEYS_A_CONNECTION_MAX)
        throw new AppError('busy', 'Too many keys are open: try again.', { retryAfterSeconds: 1 })
      const opened = await opening()
      // No code would close it.
      if (connection.ended.aborted) opened.key[Symbol.dispose]()
      lastHandle += 1
      openedBy(connection).set(lastHandle, opened)
      return { handle: lastHandle, opened }
    },
    /** @throws Refused */
    get: (connection: Connection, handle: number): Opened => {
      const opened = openedBy(connection).get(handle)
      if (opened === undefined) throw notOpen()
      return opened
    },
    close: (connection: Connection, handle: number): void => {
      openedBy(connection).get(handle)?.key[Symbol.dispose]()
      if (!openedBy(connection).delete(handle)) throw notOpen()
    },
    /** Closes it; the connection may have ended meanwhile. */
    release: (connection: Connection, handle: number): void => {
      connections.get(connection)?.get(handle)?.key[Symbol.dispose]()
      connections.get(connection)?.delete(handle)
    },
    end: (connection: Connection): void => {
      for (const { key } of openedBy(connection).values()) key[Symbol.dispose]()
      connections.delete(connection)
    },
  }
}

/** Only an attacker or a mistake uses a key too often. */
const refusingClosed = async <Result>(signing: Promise<Result>): Promise<Result> => {
  try {
    return await signing
  } catch (error) {
    throw error instanceof KeyClosed ? new Refused('a key was used too often') : error
  }
}

const keyMethods = (vault: Vault, open: ReturnType<typeof createOpenKeys>): readonly Served[] => [
  serve(KEY_METHODS.openKey, async (request, { connection }) => {
    const opening = async () => ({ by: 'credential', key: await vault.openKey(request) }) as const
    return (await open.open(connection, opening)).handle
  }),
  serve(KEY_METHODS.openKeyByPolicy, async (request, { connection }) => {
    const opening = async () => ({ by: 'policy', key: await vault.openKeyByPolicy(request) }) as const
    return (await open.open(connection, opening)).handle
  }),
  serve(KEY_METHODS.openPolicies, async (request, { connection }) => {
    const opening = async () => ({ by: 'policies', key: await vault.openPolicies(request) }) as const
    const { handle, opened } = await open.open(connection, opening)
    return { handle, policies: opened.key.policies }
  }),
  serve(KEY_METHODS.sign, async ({ handle, uses }, { connection }) => {
    const opened = open.get(connection, handle)
    if (opened.by !== 'credential') throw notOpen()
    return await refusingClosed(opened.key.sign(...uses))
  }),
  serve(KEY_METHODS.signByPolicy, async ({ handle, spends, uses }, { connection }) => {
    const opened = open.get(connection, handle)
    if (opened.by !== 'policy') throw notOpen()
    return await refusingClosed(opened.key.sign(spends, ...uses))
  }),
  serve(KEY_METHODS.signOnceByPolicy, async ({ handle, uses, ...by }, { connection }) => {
    const opened = open.get(connection, handle)
    if (opened.by !== 'policies') throw notOpen()
    const signatures = await refusingClosed(opened.key.sign(by, ...uses))
    // It was for one use, so its client need not close it.
    open.release(connection, handle)
    return signatures
  }),
  serve(KEY_METHODS.closeKey, async ({ handle }, { connection }) => open.close(connection, handle)),
]

/** Serves the methods of a table: each is the vault's function of the same name. */
const serveAll = <Table extends Readonly<Record<string, AnyMethod>>>(
  table: Table,
  vault: Calls<Table>,
): readonly Served[] => {
  const functions = vault as Readonly<
    Record<string, (input: unknown, onProgress: (progress: unknown) => void) => Promise<unknown>>
  >
  return Object.entries(table).map(([name, method]) =>
    serve(method, async (input, { onProgress }) => await functions[name]?.(input, onProgress)),
  )
}

type Serving = {
  readonly vault: OperatorVault
  readonly audit: Audit
  readonly log: Readonly<Record<'warn' | 'error', (facts: object, sentence: string) => void>>
  readonly now: () => Date
  /** Where APIs connect; the operator's socket is beside it. */
  readonly path: string
  /** The users that may connect there; null: all that the socket's mode allows, and nothing is known of them. */
  readonly users: PeerUsers | null
  /** Where APIs of other machines connect, if they may. */
  readonly tls: TlsDoor | null
}

/**
 * Lets APIs and the operator ask a vault. An API that an attacker controls can ask nothing that only an operator may.
 * @returns the places for clients; the first is the operator's.
 * @throws Error with a sentence for the operator if it cannot listen there.
 */
export const serveVault = async (
  serving: Serving,
): Promise<Pick<Listener, 'stop'> & { readonly places: readonly string[] }> => {
  const { vault, path, users, tls, log } = serving
  const open = createOpenKeys()
  const refused = createRefusedConnections(serving)
  const onFailure: ListenOptions['onFailure'] = ({ error, method }) => log.error({ err: error, method }, 'failed')
  const common = { onRefused: refused.record, onFailure, name: 'vault', onEnd: open.end }
  const forApi = [...keyMethods(vault, open), ...serveAll(METHODS, vault)]
  const forOperator = [...forApi, ...serveAll(OPERATOR_METHODS, vault)]
  // With room of its own, an operator is heard whatever the APIs do.
  const ofOperator = { ...common, audience: 'operator', methods: forOperator } as const
  const ofApi = { ...common, audience: 'everybody', methods: forApi, room: createRoom() } as const
  const listeners: Listener[] = []
  const stop: Listener['stop'] = async (input) => {
    await Promise.all(listeners.map((listener) => listener.stop(input)))
    await refused.stop()
  }
  try {
    listeners.push(await listen({ ...ofOperator, door: doorAtPath({ path: operatorSocketOf(path), mode: 0o600 }) }))
    listeners.push(await listen({ ...ofApi, door: doorAtPath({ path, mode: 0o660, users }) }))
    if (tls !== null) listeners.push(await listen({ ...ofApi, door: doorByTls(tls) }))
    return { places: listeners.map(({ place }) => place), stop }
  } catch (error) {
    await stop({ graceMs: 0 })
    throw error
  }
}
