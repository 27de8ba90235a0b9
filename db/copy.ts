// COPY … FROM STDIN: PostgreSQL reads rows without parsing lists, and writes a page at once.

import { setImmediate as nextTurn } from 'node:timers/promises'
import pg from 'pg'

/** `lines` are in COPY's text format, some rows at once. */
export type Copy = { readonly text: string; readonly lines: Iterable<string> }

export const isCopy = (config: unknown): config is Copy =>
  typeof config === 'object' && config !== null && 'lines' in config

/** What pg's types do not show. */
type Copying = { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void; sendCopyFail(reason: string): void }

export class CopyQuery extends pg.Query {
  readonly #lines: Iterable<string>
  #isOver = false
  /** Why the rows could not be written. PostgreSQL would only say that they were not. */
  #failure: Error | null = null

  constructor({ text, lines }: Copy, end: (error: Error | null) => void) {
    super(text, (error) => {
      this.#isOver = true
      end(this.#failure ?? error ?? null)
    })
    this.#lines = lines
  }

  /** PostgreSQL reads some rows while the next ones are written. After a refusal it takes none. */
  async handleCopyInResponse(connection: Copying): Promise<void> {
    try {
      for (const some of this.#lines) {
        if (this.#isOver) return
        connection.sendCopyFromChunk(Buffer.from(some))
        await nextTurn()
      }
      if (!this.#isOver) connection.endCopyFrom()
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error))
      connection.sendCopyFail('The rows could not be written.')
    }
  }
}
