// A connection that is lent to one transaction.

import pg from 'pg'
import { returnConnection } from './pool.ts'

const STATEMENT_REFUSED_AFTER_ANOTHER = '25P02'

const NOTHING: pg.QueryResult = { command: '', rowCount: 0, oid: 0, fields: [], rows: [] }

export const BEGIN = 'begin'
const ENDS = /^(?:commit|rollback)$/

/** A select that drizzle wrote. It changes nothing, even if the transaction could not begin. */
const isRead = ({ text }: pg.QueryConfig): boolean => text.startsWith('select "')

/**
 * A connection for one transaction. It refuses later statements: they would be part of another transaction. The
 * transaction begins with its first statement, in one message if that only reads; a write waits until it has begun.
 */
export class Lease {
  #isOver = false
  #failure: Error = new Error('A statement of the transaction failed.')
  #toBegin: pg.QueryConfig | null = null
  /** null: it is known to have begun. */
  #begun: Promise<unknown> | null = null
  #doesWriteWait = false
  constructor(readonly client: pg.PoolClient) {}

  async query(config: pg.QueryConfig, ...rest: readonly unknown[]): Promise<pg.QueryResult> {
    if (this.#isOver) throw new Error('The transaction that this statement belongs to is over.')
    if (config.text.startsWith(BEGIN)) {
      this.#toBegin = config
      return NOTHING
    }
    if (this.#toBegin !== null) {
      if (ENDS.test(config.text)) return NOTHING
      this.#begin(this.#toBegin)
    }
    // What follows a write that waits must not pass it.
    if (this.#begun !== null && (this.#doesWriteWait || !isRead(config))) {
      this.#doesWriteWait = true
      await this.#begun
    }
    return await this.#send(config, ...rest)
  }

  #begin(begin: pg.QueryConfig): void {
    this.#toBegin = null
    this.#begun = this.#send(begin)
    const know = () => {
      this.#begun = null
    }
    // A write, or the end of the transaction, gets its failure.
    this.#begun.then(know, () => {})
  }

  async #send(config: pg.QueryConfig, ...rest: readonly unknown[]): Promise<pg.QueryResult> {
    const query = this.client.query as unknown as (...args: readonly unknown[]) => Promise<pg.QueryResult>
    try {
      const result = await query.call(this.client, config, ...rest)
      // PostgreSQL answers the commit of a failed transaction with a rollback, and with no error.
      if (config.text === 'commit' && result.command === 'ROLLBACK') throw this.#failure
      return result
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code !== STATEMENT_REFUSED_AFTER_ANOTHER) this.#failure = error
      throw error
    }
  }

  /** @param failure why the transaction failed, if it did. */
  end(failure: unknown): void {
    this.#isOver = true
    returnConnection(this.client, failure)
  }
}
