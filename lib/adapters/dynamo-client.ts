import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CLIENT } from './client-config.ts';

/** One client for all tables of a function. */
export const dynamoClient = (): DynamoDBClient => new DynamoDBClient(CLIENT);
