import { AppError } from '../../errors.ts'

/** How a node was out of reach; `too_large` is our own limit on an answer, or the node's (HTTP 413). */
export type NodeTrouble = 'unreachable' | 'timeout' | 'http' | 'unreadable' | 'too_large' | 'refused' | 'wrong_chain'

/** The node cannot be reached, cannot be read, refused a question that it should answer, or is another chain's. */
export class NodeUnavailable extends AppError {
  readonly trouble: NodeTrouble

  constructor(trouble: NodeTrouble, sentence: string, cause?: unknown) {
    super(trouble === 'wrong_chain' ? 'wrong_chain' : 'node_unavailable', sentence, { cause })
    this.name = 'NodeUnavailable'
    this.trouble = trouble
  }
}
