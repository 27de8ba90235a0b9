import type { NodeTrouble } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'

/** The node cannot be reached, its answer cannot be read, it refused a question, or it belongs to another chain. */
export class NodeUnavailable extends AppError {
  readonly trouble: NodeTrouble
  /** How long the node wants to be left alone (`Retry-After`); null if it did not say. */
  readonly retryAfterMs: number | null

  constructor(trouble: NodeTrouble, sentence: string, cause?: unknown, retryAfterMs: number | null = null) {
    super(trouble === 'wrong_chain' ? 'wrong_chain' : 'node_unavailable', sentence, { cause })
    this.name = 'NodeUnavailable'
    this.trouble = trouble
    this.retryAfterMs = retryAfterMs
  }
}
