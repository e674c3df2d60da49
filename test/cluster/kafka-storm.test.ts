/** The storm with Kafka in the middle, a tenth of it. The whole one is a long test. */

import { stormCases } from '../storm-cases.ts'
import { throughKafka } from './storm-through-kafka.ts'

stormCases(throughKafka, 1, 500)
