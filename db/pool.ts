// Connections of which each is to a server that may be written.

import type { Duplex } from 'node:stream'
import pg from 'pg'
import { isDatabaseAway } from './trouble.ts'

type Report = { readonly parameterName: string; readonly parameterValue: string }

/** pg does not show its connection. */
export const connectionOf = (client: pg.ClientBase) =>
  (client as unknown as { readonly connection: NodeJS.EventEmitter & { readonly stream: Duplex } }).connection

/** Closes a connection at once: all that wait for an answer of it get an error. */
const cut = (client: pg.ClientBase): void => void connectionOf(client).stream.destroy()

/** As PostgreSQL's error for a statement that writes. */
export const readOnlyError = (): Error => Object.assign(new Error('The server is read-only.'), { code: '25006' })

/**
 * A client that connects only to a server that may be written: a standby, or the primary of before, would refuse what is written
 * and show what is no longer so. PostgreSQL 14 and later reports at each login, and at each change, which it is.
 */
export class WritableClient extends pg.Client {
  /** The settings that are on of those that make a session read-only. */
  readonly #readOnly = new Set<string>()

  constructor(config?: pg.ClientConfig) {
    super(config)
    // Nothing to do: a lost connection also fails the statements that use it, and an idle one is replaced.
    this.on('error', () => {})
    const note = ({ parameterName: name, parameterValue: value }: Report) => {
      if (/^(?:in_hot_standby|default_transaction_read_only)$/.test(name))
        this.#readOnly[value === 'on' ? 'add' : 'delete'](name)
    }
    connectionOf(this).on('parameterStatus', note)
  }

  isReadOnly(): boolean {
    return this.#readOnly.size > 0
  }

  // Overrides the overloads with a callback, which pools use, and without.
  override connect(done?: unknown): never {
    const connected = super.connect().then(() => {
      if (!this.isReadOnly()) return
      cut(this)
      throw readOnlyError()
    })
    const told = done as ((error: Error | null) => void) | undefined
    return (told === undefined ? connected : void connected.then(() => told(null), told)) as never
  }
}

/** Gives a connection back to its pool, or closes it if the database is away by it: another one may reach it. */
export const giveBack = (client: pg.PoolClient, failure: unknown): void => {
  const isLost = isDatabaseAway(failure) || (client instanceof WritableClient && client.isReadOnly())
  if (isLost) cut(client)
  client.release(isLost)
}
