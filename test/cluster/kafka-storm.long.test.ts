/** The storm, unchanged, with Kafka in the middle. */

import { stormCases } from '../storm-cases.ts'
import { throughKafka } from './storm-through-kafka.ts'

stormCases(throughKafka)
